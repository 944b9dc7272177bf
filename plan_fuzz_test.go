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
		if stmt.IsMultiTable && a.deletesFrom(stmt) == nil {
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
	named, others := map[*table]bool{}, map[string]bool{}
	every(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TableName:
			if t := a.schema.lookup(n.Schema.O, n.Name.O, a.db); t != nil {
				named[t] = true
			}
		case *ast.TableSource:
			if name, ok := n.Source.(*ast.TableName); !ok || a.schema.lookup(name.Schema.O, name.Name.O, a.db) == nil {
				others[a.sourceOf(n).name] = true
			}
		}
		return true
	})
	ours := func(t *ast.TableName) bool { return a.schema.lookup(t.Schema.O, t.Name.O, a.db) != nil }
	return some(stmt, func(s *ast.SelectStmt) bool { return s.From != nil && wild(s) && some(s.From, ours) }) ||
		some(stmt, func(c *ast.ColumnNameExpr) bool {
			if others[c.Name.Table.O] {
				return false
			}
			for t := range named {
				if t.virtual(c.Name.Name.O) {
					return true
				}
			}
			return false
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
