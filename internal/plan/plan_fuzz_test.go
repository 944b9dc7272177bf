package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/catalogtest"
	"github.com/countermysql/countermysql/internal/sqltext"
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
	schemas := []*catalog.Schema{catalogtest.Forum(false), catalogtest.Forum(true)}
	f.Fuzz(func(t *testing.T, text string, ansi, literal bool) {
		mode := sqltext.Mode{AnsiQuotes: ansi, NoBackslashEscapes: literal}
		for _, s := range schemas {
			p := NewPlan(s, text, mode, "forum")
			if _, reads := p.Work.(*BaseRead); p.Work != nil && !reads || p.Writes != nil || p.Sweep != nil {
				continue
			}
			a := newAnalyzer(s, text, mode, "forum")
			if stmt := a.parse().stmt; stmt != nil && p.Effect == nil && a.concerns(stmt) {
				t.Fatalf("it writes or reads counters, and was taken for none of our business: %q", text)
			}
		}
	})
}

// concerns is the parser's own view: the statement writes a counter table, or names one
// and a column that is not in its base rows alone.
func (a *analyzer) concerns(stmt ast.StmtNode) bool {
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
	named, others := map[*catalog.Table]bool{}, map[string]bool{}
	every(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TableName:
			if t := a.lookup(n); t != nil {
				named[t] = true
			}
		case *ast.TableSource:
			if name, ok := n.Source.(*ast.TableName); !ok || a.lookup(name) == nil {
				others[a.sourceOf(n).name] = true
			}
		}
		return true
	})
	ours := func(t *ast.TableName) bool { return a.lookup(t) != nil }
	return some(stmt, func(s *ast.SelectStmt) bool { return s.From != nil && wild(s) && some(s.From, ours) }) ||
		some(stmt, func(c *ast.ColumnNameExpr) bool {
			if others[c.Name.Table.O] {
				return false
			}
			for t := range named {
				if t.Virtual(c.Name.Name.O) {
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
		for _, tok := range sqltext.Tokenize(text, sqltext.Mode{AnsiQuotes: ansi, NoBackslashEscapes: literal}) {
			if tok.Start < at || tok.End <= tok.Start || tok.End > len(text) {
				t.Fatalf("token %v of %q overlaps or leaves the text", tok, text)
			}
			at = tok.End
		}
	})
}
