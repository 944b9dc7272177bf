package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// overrides are the derived counters that a statement sets in rows that there are, whatever their
// formulas say.
func (a *analyzer) overrides(stmt ast.StmtNode) (names []string) {
	set := func(t *catalog.Table, column string) {
		if t == nil {
			return
		}
		c := t.Counter(column)
		if c != nil && t.Spec.FormulaOf(c) != nil && !slices.Contains(names, t.FullName(c)) {
			names = append(names, t.FullName(c))
		}
	}
	switch stmt := stmt.(type) {
	case *ast.UpdateStmt:
		from := a.joined(stmt.TableRefs)
		for _, s := range stmt.List {
			set(a.setIn(s.Column, from).t, s.Column.Name.O)
		}
	case *ast.InsertStmt:
		node := singleTable(stmt.Table)
		if node == nil {
			return nil
		}
		t := a.target(node)
		for _, s := range stmt.OnDuplicate {
			set(t, s.Column.Name.O)
		}
		if stmt.IsReplace && t != nil {
			for _, c := range t.Counters {
				set(t, c.Name)
			}
		}
	}
	return names
}
