package countermysql

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// readBeside is the exact plan of a statement that writes some tables and may read the
// counters of these, or of others that it names; nil if the parts given read none.
func (a *analysis) readBeside(stmt ast.Node, written, named []*table, parts ...ast.Node) *plan {
	read := a.countersRead(stmt, named, parts...)
	if len(read) == 0 {
		return nil
	}
	return a.exactOf(written, read, "it reads a counter in a join or a subquery")
}

// exactOf is the exact way for a statement that writes some tables and reads the counters
// of others.
func (a *analysis) exactOf(written, read []*table, reason string) *plan {
	p := a.opaque(with(written, read...), nil, reason)
	if p.writes = nil; len(written) > 0 {
		p.writes = anyRow(written)
	}
	return p
}

// updateReads are the parts of an UPDATE of one table that it reads, but for what it adds
// constants to.
func (a *analysis) updateReads(stmt *ast.UpdateStmt, t *table, name string) []ast.Node {
	parts := []ast.Node{stmt.Where, stmt.Order, stmt.Limit}
	for _, set := range stmt.List {
		if c := t.counter(set.Column.Name.O); c != nil {
			if _, ok := a.relative(c, name, set.Expr); ok {
				continue
			}
		}
		parts = append(parts, set.Expr)
	}
	return parts
}

// joinedUpdate plans an UPDATE of several tables: relative or exact. What it adds to a
// counter is as right in the base row.
func (a *analysis) joinedUpdate(stmt *ast.UpdateStmt, named []*table) *plan {
	if stmt.With != nil {
		return a.opaque(named, nil, "it has a common table expression")
	}
	from := a.joined(stmt.TableRefs)
	parts := []ast.Node{stmt.TableRefs, stmt.Where, stmt.Order, stmt.Limit}
	var s settings
	var written []*table
	var adds *table
	for _, set := range stmt.List {
		of := a.setIn(set.Column, from)
		if of.t == nil || of.t.column(set.Column.Name.O) == nil {
			parts = append(parts, set.Expr)
			continue
		}
		written = with(written, of.t)
		one := a.settings([]*ast.Assignment{set}, of.t, of.name, false)
		if one.reason != "" || one.deltas == nil {
			parts = append(parts, set.Expr)
		}
		if one.reason == "" && of.t.watched() != "" && one.deltas != nil {
			one.reason = of.t.watched()
		}
		s.reason = cmp.Or(s.reason, one.reason)
		if adds == nil && one.deltas != nil {
			adds = of.t
		}
		s.deltas, s.touch = append(s.deltas, one.deltas...), append(s.touch, one.touch...)
		s.rekeyed = s.rekeyed || one.rekeyed
	}
	p := a.readBeside(stmt, written, named, parts...)
	if p == nil && s.reason != "" {
		p = a.exactOf(written, nil, s.reason)
	}
	if p != nil {
		p.whole = s.rekeyed
		if len(named) == 1 && len(written) == 1 {
			p.discards = a.overwritten(written[0], stmt.List, stmt.TableRefs, stmt.Where, stmt.Order, stmt.Limit)
		}
		return p
	}
	p = &plan{touches: s.touch, scopes: allOf(written), writes: anyRow(written)}
	for i := range p.writes {
		p.writes[i].updates = true
	}
	if s.deltas != nil {
		p.increment = &increment{t: adds, deltas: s.deltas, touch: s.touch, ignores: a.mayIgnore(stmt.IgnoreErr)}
	}
	return p
}

// joined are the tables that a FROM clause itself joins.
func (a *analysis) joined(refs *ast.TableRefsClause) (all []source) {
	var add func(ast.ResultSetNode)
	add = func(n ast.ResultSetNode) {
		switch n := n.(type) {
		case *ast.Join:
			add(n.Left)
			if n.Right != nil {
				add(n.Right)
			}
		case *ast.TableSource:
			all = append(all, a.sourceOf(n))
		}
	}
	add(refs.TableRefs)
	return all
}

// setIn is the joined table that a column which is set belongs to. Where it does not say
// so, and several have it, the server refuses the statement.
func (a *analysis) setIn(c *ast.ColumnName, from []source) source {
	i := slices.IndexFunc(from, func(s source) bool {
		if c.Table.O == "" {
			return s.t != nil && s.t.column(c.Name.O) != nil
		}
		return a.means(c.Table.O, s.name)
	})
	if i < 0 {
		return source{}
	}
	return from[i]
}

// joinedDelete plans a DELETE that names more than one table; nil if it is that of rows of
// one, whose keys it gives. The slots of the rows stay: they are no longer seen, and go
// with the next rollup, or the INSERT of such a row.
func (a *analysis) joinedDelete(stmt *ast.DeleteStmt, named []*table) *plan {
	if stmt.With != nil {
		return a.opaque(named, nil, "it has a common table expression")
	}
	source := singleTable(stmt.TableRefs)
	single := source != nil && !stmt.IsMultiTable
	written := a.deletesFrom(stmt)
	read := a.countersRead(stmt, named, stmt.TableRefs, stmt.Where, stmt.Order, stmt.Limit)
	keyless := slices.ContainsFunc(written, func(t *table) bool { return len(t.key) == 0 })
	for _, t := range written {
		if single && a.returns(t) {
			read = with(read, t)
		}
	}
	switch {
	case len(read) > 0 || keyless:
		p := a.exactOf(written, read, "it deletes from a join, or reads a counter table in a subquery")
		p.whole = written != nil
		if len(named) == 1 && written != nil {
			p.discards = a.gone(named[0], stmt)
		}
		return p
	case written == nil:
		return &plan{}
	case single && a.pins(written[0], nameOf(source), stmt.Where) != nil:
		return nil
	}
	return &plan{writes: anyRow(written), deletes: written}
}

// deletesFrom are the counter tables that a DELETE takes rows from.
func (a *analysis) deletesFrom(stmt *ast.DeleteStmt) (tables []*table) {
	for _, s := range a.joined(stmt.TableRefs) {
		if s.t != nil && (stmt.Tables == nil || slices.ContainsFunc(stmt.Tables.Tables, func(n *ast.TableName) bool { return strings.EqualFold(n.Name.O, s.name) })) {
			tables = with(tables, s.t)
		}
	}
	return tables
}
