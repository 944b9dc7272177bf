package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// deletion plans a DELETE: the slots go with the rows.
func (a *analyzer) deletion(stmt *ast.DeleteStmt, named []*catalog.Table) *Plan {
	node := singleTable(stmt.TableRefs)
	if node == nil || stmt.With != nil || stmt.IsMultiTable || a.target(node) == nil || len(named) > 1 || a.countTables(stmt) > 1 {
		if p := a.joinedDelete(stmt, named); p != nil {
			return p
		}
	}
	src := a.sourceOf(node)
	t, rows, keys := src.t, src.rows(stmt.Where), src.keys(stmt.Where)
	x := &Exact{Rows: []RowSet{rows}, Discards: a.gone(t, stmt), Restriction: src.restriction(rows, stmt.Where, stmt.Order, stmt.Limit)}
	if rows.Where == nil && rows.Keys == nil && (readsVirtualIn(t, stmt.Where, stmt.Order, stmt.Limit) || a.returns(t)) {
		if x.Whole = stmt.Where == nil || !src.local(stmt.Where); !x.Whole {
			by := a.template(a.whereSpan())
			x.Restriction = src.restrict(stmt.Where)
			x.Restriction.By = &by
		}
	}
	if len(keys) == 1 && stmt.Where != nil {
		if x.Key = &keys[0]; node.AsName.O == "" {
			x.OneTrip = src.tripOfRow(stmt.Where, true, t.DeleteTriggers)
		}
	}
	return &Plan{Reason: "the slots go with the row", Changes: Changes{Writes: []WriteTarget{{Table: t, Keys: keys}}}, Work: x}
}

// joinedDelete plans a DELETE that names more than one table; nil if it is that of rows of
// one, whose keys it gives. The slots of the rows stay: they are no longer seen, and go
// with the next rollup, or the INSERT of such a row.
func (a *analyzer) joinedDelete(stmt *ast.DeleteStmt, named []*catalog.Table) *Plan {
	if stmt.With != nil {
		return a.opaque(named, nil, "it has a common table expression")
	}
	node := singleTable(stmt.TableRefs)
	single := node != nil && !stmt.IsMultiTable
	written := a.deletesFrom(stmt)
	read := a.countersRead(stmt, named, stmt.TableRefs, stmt.Where, stmt.Order, stmt.Limit)
	for _, t := range written {
		if catalog.Reserves(t) && !(single && a.sourceOf(node).keys(stmt.Where) != nil) { // others may be taking units of its rows
			read = with(read, t)
		}
	}
	keyless := slices.ContainsFunc(written, func(t *catalog.Table) bool { return len(t.Key) == 0 })
	for _, t := range written {
		if single && a.returns(t) {
			read = with(read, t)
		}
	}
	switch {
	case len(read) > 0 || keyless:
		p := a.exactOf(written, read, "it deletes from a join, or reads a counter table in a subquery")
		x := p.Exactly()
		x.Whole = written != nil
		if len(named) == 1 && written != nil {
			x.Discards = a.gone(named[0], stmt)
		}
		return p
	case written == nil:
		return &Plan{}
	case single && a.sourceOf(node).keys(stmt.Where) != nil:
		return nil
	}
	return &Plan{Changes: Changes{Writes: anyRow(written), Deletes: written}}
}
