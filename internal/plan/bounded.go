package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// Guard is an UPDATE of one row that takes from one counter, or adds to it, as long as that
// stays on one side of a bound, if there is one: stock = stock - ? where stock >= ?, or CHECK (stock >= 0),
// or GREATEST(stock - ?, 0), which is nothing but stock - ? as long as there is enough. Several that differ in
// nothing but amounts, thresholds and present times can go together, served one after the
// other.
type Guard struct {
	Table   *catalog.Table
	Counter *catalog.Column
	Other   *catalog.Column // what the bound is relative to; nil: nothing
	sign    int64           // of Other
	Name    string          // what the statement calls the table
	Text    string          // the statement, whose literals are parameters
	Waits   bool            // see [OneTrip]
	key     KeyValue
	delta   Delta
	bound   *bound   // nil: what the column can hold, or a CHECK constraint lets it
	floor   *Operand // to which GREATEST brings what would be below; nil: nothing does
	times   []Touch  // constants that may differ if they are the present
	more    bool     // it asks or sets more than the key, the bound, the counter and touch columns

	before, own, after Template // the statement, cut at the condition that the bound is
	from, to           Template // what WHERE has before and behind it
	free               string   // fails if the row has slots
}

// bound is a condition of a counter, a column perhaps, and constants, none of them more than
// added: all of it on one side, compared with zero.
type bound struct {
	lower    bool // the counter may not be less, or else not more
	strict   bool // nor equal
	terms    []Delta
	unsigned bool // so is one of its columns
	mayFail  bool // an UNSIGNED number could go below zero in it
	sums     bool // its constants may not be negative: it computes with them
}

// bounded reads such an UPDATE; nil if it is none.
func (up singleUpdate) bounded(x *Exact) *Guard {
	t, name := up.t, up.name
	if x.OneTrip == nil || t.UpdateTriggers || t.CheckedBy != "" && !t.Bounded || t.Degraded != nil || t.Cluster || len(x.Key.Columns) == 0 || up.mayIgnore(up.IgnoreErr) || !up.local(up.Where) {
		return nil
	}
	g := &Guard{Table: t, Name: name, Text: up.text, Waits: x.OneTrip.Waits, key: *x.Key, free: slotsql.IsFree(t, name)}
	for _, set := range up.List {
		if !up.setsBounded(g, set) {
			return nil
		}
	}
	start, end := up.whereSpan()
	if g.Counter == nil || start == 0 || g.delta.v.param < 0 || up.changesRead(g.Counter) {
		return nil
	}
	asking, ok := askingCounters(t, up.Where, up.tokensIn(start, end))
	g.more = g.more || len(conjuncts(up.Where)) > len(g.key.Columns)+len(asking)
	switch {
	case !ok || len(asking) > 1 || g.floor != nil && asking != nil:
		return nil
	case asking == nil:
		g.before, g.after = up.template(0, end), up.template(end, len(up.text))
		g.from = up.template(start, end)
		return g
	}
	i := slices.IndexFunc(conjuncts(up.Where), func(e ast.ExprNode) bool { return readsVirtualIn(t, e) })
	if !up.boundOf(g, conjuncts(up.Where)[i]) {
		return nil
	}
	at := asking[0]
	g.before, g.own, g.after = up.template(0, at.Start), up.template(at.Start, at.End), up.template(at.End, len(up.text))
	g.from, g.to = up.template(start, at.Start), up.template(at.End, end)
	return g
}

// setsBounded reads one assignment: that of the counter, or of a column which gets a
// constant.
func (up singleUpdate) setsBounded(g *Guard, set *ast.Assignment) bool {
	t := g.Table
	c := t.Column(set.Column.Name.O)
	if c == nil || !up.means(set.Column.Table.O, up.name) {
		return false
	}
	if t.Counter(c.Name) != nil {
		d, ok := up.relative(c, set.Expr)
		if !ok {
			d, g.floor, ok = up.clamped(c, set.Expr)
		}
		ok = ok && g.Counter == nil && !d.inserted && !d.fills && c.Integer()
		g.Counter, g.delta = c, d
		return ok
	}
	if slices.ContainsFunc(t.Unique, func(k catalog.UniqueKey) bool { return t.Changes(k.Columns, c.Name) }) {
		return false
	}
	if at, ok := up.params.touchOf(c, set.Expr); ok && (t.Virtual(c.Name) || c.Touchable) {
		g.times = append(g.times, at)
		g.more = g.more || !t.Virtual(c.Name)
		return true
	}
	g.more = true
	_, constant := up.params.constant(set.Expr)
	return constant && !t.Virtual(c.Name)
}

// clamped reads GREATEST(c - d, e), where d and e are constants.
func (src source) clamped(c *catalog.Column, e ast.ExprNode) (d Delta, floor *Operand, ok bool) {
	f, ok := unparen(e).(*ast.FuncCallExpr)
	if !ok || f.FnName.L != "greatest" || f.Schema.O != "" || len(f.Args) != 2 {
		return d, nil, false
	}
	for i, arg := range f.Args {
		if d, ok = src.relative(c, arg); ok {
			v, ok := src.params.constant(f.Args[1-i])
			return d, &v, ok
		}
	}
	return d, nil, false
}

// changesRead reports whether the statement changes a column that WHERE reads, besides the
// counter: it sets it, or ON UPDATE does, or it is generated from one that is changed. What is
// asked once for all would be false for the next one, who runs behind the first.
func (up singleUpdate) changesRead(counter *catalog.Column) bool {
	changes := func(name string) bool {
		return some(up.Where, func(ref *ast.ColumnName) bool {
			c := up.t.Column(ref.Name.O)
			return c != nil && c != counter && up.t.Changes([]*catalog.Column{c}, name)
		})
	}
	return slices.ContainsFunc(up.List, func(set *ast.Assignment) bool { return changes(set.Column.Name.O) }) ||
		slices.ContainsFunc(up.t.Columns, func(c *catalog.Column) bool { return c.OnUpdate && changes(c.Name) })
}

// boundOf reads a comparison, and brings the counter to one side of it.
func (src source) boundOf(g *Guard, cond ast.ExprNode) bool {
	e, ok := unparen(cond).(*ast.BinaryOperationExpr)
	if !ok {
		return false
	}
	b := &bound{lower: e.Op == opcode.GE || e.Op == opcode.GT, strict: e.Op == opcode.GT || e.Op == opcode.LT}
	if !b.lower && e.Op != opcode.LE && e.Op != opcode.LT {
		return false
	}
	s := linear{source: src, counter: g.Counter}
	if !s.add(e.L, 1, false) || !s.add(e.R, -1, false) || s.counters != 1 && s.counters != -1 || s.others < -1 || s.others > 1 || (s.others == 0) != (s.other == nil) {
		return false
	}
	g.Other, b.terms, b.sums = s.other, s.terms, s.sums
	if b.unsigned = g.Counter.Unsigned() || g.Other != nil && g.Other.Unsigned(); b.unsigned {
		more, less := e.L, e.R
		if !b.lower {
			more, less = less, more
		}
		if !src.heldAboveZero(more, less) {
			return false
		}
		b.mayFail, b.sums = s.subtracts, b.sums || s.subtracts
	}
	g.sign = -s.others * s.counters
	if s.counters < 0 {
		b.lower = !b.lower
	}
	for i := range b.terms {
		b.terms[i].subtract = b.terms[i].subtract != (s.counters > 0) // to the other side
	}
	g.bound = b
	return true
}

// linear is what stands on one side of a comparison less what stands on the other: of a counter,
// perhaps another column, and constants.
type linear struct {
	source
	counter          *catalog.Column
	other            *catalog.Column // nil: there is none
	counters, others int64           // how often each is added
	terms            []Delta
	sums             bool // a constant is added to something
	subtracts        bool // something is taken away from something
}

// add adds a side, or a part of it, or takes it away; part says that it is not the whole side.
func (s *linear) add(e ast.ExprNode, sign int64, part bool) bool {
	e = unparen(e)
	if v, ok := s.params.constant(e); ok {
		s.terms = append(s.terms, Delta{C: s.counter, v: v, subtract: sign < 0})
		s.sums = s.sums || part
		return true
	}
	if c := s.column(e); c != nil {
		switch {
		case c == s.counter:
			s.counters += sign
		case !c.Integer() || s.other != nil && s.other != c:
			return false
		default:
			s.other = c
			s.others += sign
		}
		return true
	}
	op, ok := e.(*ast.BinaryOperationExpr)
	if !ok || op.Op != opcode.Plus && op.Op != opcode.Minus {
		return false
	}
	right := sign
	if op.Op == opcode.Minus {
		right, s.subtracts = -sign, true
	}
	return s.add(op.L, sign, true) && s.add(op.R, right, true)
}

// heldAboveZero reports whether a comparison with UNSIGNED numbers, whose constants are not
// negative, can't be true while something in it goes below zero, where the server has an
// error (1690): all that is taken away is taken from the side that is not less, which is
// then at least what is left of it, and the other side.
func (src source) heldAboveZero(more, less ast.ExprNode) bool {
	sum := func(e ast.ExprNode) bool { _, ok := unparen(e).(*ast.BinaryOperationExpr); return ok }
	var positive, left func(e ast.ExprNode) bool
	positive = func(e ast.ExprNode) bool {
		if op, ok := unparen(e).(*ast.BinaryOperationExpr); ok {
			return op.Op == opcode.Plus && positive(op.L) && positive(op.R)
		}
		c := src.column(e)
		return c == nil || c.Unsigned()
	}
	left = func(e ast.ExprNode) bool {
		op, ok := unparen(e).(*ast.BinaryOperationExpr)
		return !ok || op.Op == opcode.Minus && left(op.L) && positive(op.R)
	}
	return !sum(more) && !sum(less) || left(more) && positive(less)
}
