package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// notes are what else a statement does that sets counters.
func (a *analyzer) notes(p *Plan, stmt ast.StmtNode) {
	a.sets(stmt, func(t *catalog.Table, c *catalog.Column, new bool) {
		if !new && t.Spec.FormulaOf(c) != nil && !slices.Contains(p.Overrides, t.FullName(c)) {
			p.Overrides = append(p.Overrides, t.FullName(c))
		}
		if (t.History.Updates && !new || t.History.Inserts && new) && !slices.Contains(p.Recorded, t) {
			p.Recorded = append(p.Recorded, t)
		}
	})
}

// sets calls set for each counter that a statement sets in rows that there are, or are new.
func (a *analyzer) sets(stmt ast.StmtNode, set func(t *catalog.Table, c *catalog.Column, new bool)) {
	named := func(t *catalog.Table, column string) {
		if t == nil {
			return
		}
		if c := t.Counter(column); c != nil {
			set(t, c, false)
		}
	}
	switch stmt := stmt.(type) {
	case *ast.UpdateStmt:
		from := a.joined(stmt.TableRefs)
		for _, s := range stmt.List {
			named(a.setIn(s.Column, from).t, s.Column.Name.O)
		}
	case *ast.InsertStmt:
		node := singleTable(stmt.Table)
		if node == nil {
			return
		}
		t := a.target(node)
		for _, s := range stmt.OnDuplicate {
			named(t, s.Column.Name.O)
		}
		if t != nil {
			for _, c := range t.Counters {
				set(t, c, !stmt.IsReplace)
			}
		}
	}
}
