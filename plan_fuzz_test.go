package countermysql

import (
	"os"
	"path/filepath"
	"slices"
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
			a := &analysis{schema: s, text: text, mode: mode, db: "forum", toks: tokenize(text, mode)}
			if stmt := a.parse(); stmt != nil && p.kind == kindOther && a.concerns(stmt) {
				t.Fatalf("it writes or reads counters, and was taken for none of our business: %q", text)
			}
		}
	})
}

// concerns is the parser's own view: the statement writes a counter table, or names one
// and a column that is not in its base rows alone.
func (a *analysis) concerns(stmt ast.StmtNode) bool {
	writes := func(refs *ast.TableRefsClause) bool {
		source := singleTable(refs)
		return source != nil && a.target(source) != nil
	}
	switch stmt := stmt.(type) {
	case *ast.UpdateStmt:
		return writes(stmt.TableRefs)
	case *ast.DeleteStmt:
		if stmt.IsMultiTable && !a.deletesFrom(stmt) {
			break // what it deletes from is not among its tables: the server refuses it
		}
		return writes(stmt.TableRefs)
	case *ast.InsertStmt:
		if stmt.IsReplace || stmt.OnDuplicate != nil {
			return writes(stmt.Table)
		}
		if stmt.Select == nil {
			return false // new rows
		}
	}
	var named []*table
	every(stmt, func(n ast.Node) bool {
		if name, ok := n.(*ast.TableName); ok {
			if t := a.schema.lookup(name.Schema.O, name.Name.O, a.db); t != nil {
				named = append(named, t)
			}
		}
		return true
	})
	return named != nil && (some(stmt, func(f *ast.SelectField) bool { return f.WildCard != nil }) ||
		some(stmt, func(c *ast.ColumnNameExpr) bool {
			return slices.ContainsFunc(named, func(t *table) bool { return t.virtual(c.Name.Name.O) })
		}))
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
