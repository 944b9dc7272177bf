package countermysql

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// FuzzPlan proves that planning never panics, and that no data change or query
// which names a counter table slips through as none of our business.
func FuzzPlan(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "\n\n") {
			stmt, _, _ := strings.Cut(block, "\n=> ")
			f.Add(stmt, false, false)
		}
	}
	schemas := []*schema{forum(false), forum(true)}
	f.Fuzz(func(t *testing.T, text string, ansi, literal bool) {
		mode := lexMode{ansiQuotes: ansi, noBackslashEscapes: literal}
		for _, s := range schemas {
			p := s.plan(text, mode, "forum")
			if p.class != verbatim || p.query != nil || p.increment != nil || p.writes != nil || p.split != nil || p.cleaning != nil {
				continue
			}
			// the parser's own view of what the statement writes
			update, ok := parse(text, mode).(*ast.UpdateStmt)
			if !ok || p.kind != kindOther {
				continue
			}
			source := singleTable(update.TableRefs)
			a := &analysis{schema: s, db: "forum"}
			if source != nil && a.target(source) != nil {
				t.Fatalf("an UPDATE of a counter table was taken for none: %q", text)
			}
		}
	})
}

// FuzzTokenize proves that tokens cover a text in order, and never overlap.
func FuzzTokenize(f *testing.F) {
	f.Add("SELECT 'a''b', \"c\", `d`, 1.5e3, @v, ? -- x\n/* y */ /*! z */", false, false)
	f.Fuzz(func(t *testing.T, text string, ansi, literal bool) {
		at := 0
		for _, tok := range tokenize(text, lexMode{ansiQuotes: ansi, noBackslashEscapes: literal}) {
			if tok.start < at || tok.end <= tok.start || tok.end > len(text) {
				t.Fatalf("token %v of %q overlaps or leaves the text", tok, text)
			}
			at = tok.end
		}
	})
}
