package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// singleUpdate is an UPDATE of one counter table.
type singleUpdate struct {
	source
	*ast.UpdateStmt
	sets settings // what its assignments do
}

// update plans an UPDATE.
func (a *analyzer) update(stmt *ast.UpdateStmt, named []*catalog.Table) *Plan {
	node := singleTable(stmt.TableRefs)
	if node == nil || stmt.With != nil || stmt.MultipleTable {
		return a.joinedUpdate(stmt, named)
	}
	up := singleUpdate{source: a.sourceOf(node), UpdateStmt: stmt}
	t := up.t
	if t == nil {
		return a.readToWrite(stmt, named)
	}
	if len(named) > 1 || a.countTables(stmt) > 1 {
		if p := a.readBeside(stmt, []*catalog.Table{t}, named, up.reads()...); p != nil {
			p.Exactly().Whole = slices.ContainsFunc(stmt.List, func(set *ast.Assignment) bool { return t.Changes(t.Key, set.Column.Name.O) })
			return p
		}
	}
	up.sets = up.settings(stmt.List, false)
	s, keys := &up.sets, up.keys(stmt.Where)
	p := &Plan{Changes: Changes{Writes: []WriteTarget{{Table: t, Keys: keys, Rekeys: s.unique, Updates: true, Reads: readsAll(stmt)}}}}
	x := &Exact{Rows: []RowSet{up.rows(stmt.Where)}}
	switch {
	case s.reason == "" && readsVirtualIn(t, stmt.Where, stmt.Order, stmt.Limit):
		s.reason = "its condition or order needs a counter"
	case s.reason == "" && s.deltas != nil:
		s.reason = t.Watched()
	}
	if s.reason != "" {
		p.Reason, p.Work = s.reason, x
		up.exactly(p, x)
		return p
	}
	if s.deltas == nil {
		p.Work = &Update{s.touch, x, s.cutsKey}
		return p
	}
	inc := &Increment{Table: t, Name: up.name, Deltas: s.deltas, Touch: s.touch, Ignores: a.mayIgnore(stmt.IgnoreErr), Exact: x, cutsKey: s.cutsKey}
	p.Work = inc
	if p.Reason = up.onBase(inc, keys); p.Reason != "" {
		inc.BaseOnly = true
		return p
	}
	inc.matches(up.source, stmt.Where, keys)
	if inc.One && stmt.Where != nil { // beside guarded updates of its row, or as it takes from an UNSIGNED counter
		up.ofOneRow(x, keys[0])
	}
	return p
}

// reads are the parts that it reads, but for what it adds constants to.
func (up singleUpdate) reads() []ast.Node {
	parts := []ast.Node{up.Where, up.Order, up.Limit}
	for _, set := range up.List {
		if c := up.t.Counter(set.Column.Name.O); c != nil {
			if _, ok := up.relative(c, set.Expr); ok {
				continue
			}
		}
		parts = append(parts, set.Expr)
	}
	return parts
}

// onBase says why what an UPDATE adds goes to base rows, and not to slots; "": it goes to
// slots.
func (up singleUpdate) onBase(inc *Increment, keys []KeyValue) string {
	t := up.t
	switch {
	case up.sets.ordinary != "":
		return "it sets " + up.sets.ordinary + ", which is neither a counter nor a touch column"
	case up.Order != nil || up.Limit != nil:
		return "it has ORDER BY or LIMIT"
	case inc.Ignores:
		return "by IGNORE, or by a hint, it may cut what it adds"
	case t.Derived:
		return "a generated column is made of a touch column"
	case hinted(up.node):
		return "it names indexes or partitions"
	case up.astray(up.UpdateStmt):
		return "it names a column of another table"
	case keys == nil:
		return "its condition does not give a primary or unique key by = or IN"
	case up.Where != nil && !up.plain(up.Where):
		return "its condition has more than columns of the row and constants"
	case len(t.Key) == 0 && up.Where != nil:
		return "it has a condition, and the table no key"
	case up.sets.wanted != nil:
		inc.Wanted = up.sets.wanted
		return "it sets " + up.sets.wanted[0].C.Name + ", which is no touch column yet"
	}
	return ""
}

// ofOneRow notes how it runs as that is of one row at most.
func (up singleUpdate) ofOneRow(x *Exact, key KeyValue) {
	x.Key, x.OneTrip = &key, up.tripOfRow(up.Where, up.waits(), up.t.UpdateTriggers)
	x.Guard = up.bounded(x)
}

// exactly completes the plan of one that has to run the exact way.
func (up singleUpdate) exactly(p *Plan, x *Exact) {
	t, rows, keys := up.t, x.Rows[0], p.Writes[0].Keys
	x.Discards = up.overwritten(t, up.List, up.Where, up.Order, up.Limit)
	x.Restriction = up.restriction(rows, up.Where, up.Order, up.Limit)
	x.Whole = rows.Where == nil && rows.Keys == nil && (up.sets.rekeyed || up.Where == nil && up.Limit == nil)
	x.Moves = up.sets.rekeyed
	if up.sets.rekeyed {
		to := up.newKey(up.List)
		p.Sweep = &OrphanSweep{Table: t, Keys: to}
		if to == nil || !slices.Equal(t.Key, keyColumns(keys)) {
			p.Writes[0].Keys = nil
		} else {
			p.Writes[0] = WriteTarget{Table: t, Keys: slices.Concat(keys, to), Moves: true, Updates: true}
		}
	}
	if len(keys) == 1 && up.Where != nil && !up.sets.rekeyed {
		up.ofOneRow(x, keys[0])
		if slices.Equal(keys[0].Columns, t.Key) && !keys[0].Momentary() && up.meansTheSame() {
			text := up.template(0, len(up.text))
			x.Elsewhere = &text
		}
		x.Overwrites = len(x.Discards) == len(up.List) && !t.UpdateTriggers && !t.Fed && t.Degraded == nil && !up.actsTwice()
	} else if !up.sets.rekeyed && up.Where != nil {
		x.OneTrip = up.tripOfRows(keys)
	}
}

// meansTheSame reports whether the statement does the same on another connection that has the
// same settings, in a transaction with others. It sets nothing that a unique or foreign key may
// hold: what the server locks for those would be locked for as long as the others take.
func (up singleUpdate) meansTheSame() bool {
	t := up.t
	return !t.UpdateTriggers && !t.Fed && t.Degraded == nil && !t.Cluster && (t.CheckedBy == "" || t.Bounded) &&
		!up.mayIgnore(up.IgnoreErr) && up.Order == nil && up.Limit == nil && up.local(up.Where) &&
		!slices.ContainsFunc(up.List, func(set *ast.Assignment) bool { return !t.Virtual(set.Column.Name.O) || !up.local(set.Expr) })
}

// readsAll reports whether an UPDATE reads all columns that it sets.
func readsAll(stmt *ast.UpdateStmt) bool {
	if some(stmt, func(*ast.SubqueryExpr) bool { return true }) {
		return false // its columns may be another table's
	}
	read := map[string]bool{}
	note := func(n ast.Node) bool {
		if c, ok := n.(*ast.ColumnName); ok {
			read[c.Name.L] = true
		}
		return true
	}
	for _, set := range stmt.List {
		every(set.Expr, note)
	}
	if stmt.Where != nil {
		every(stmt.Where, note)
	}
	return !slices.ContainsFunc(stmt.List, func(set *ast.Assignment) bool { return !read[set.Column.Name.L] })
}
