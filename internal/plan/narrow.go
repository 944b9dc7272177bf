package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// restrictToLocked is a statement that waits for a condition on the key.
type restrictToLocked struct {
	Before, After string // "" if the text may not be changed
	Most          int    // rows that can meet the statement's own condition; 0: not known

	By    *Template // the statement's condition, if it reads counters: the rows are locked by it after all have been rolled up
	First *RowSet   // the rows that its limit leaves; nil: it has none, or an order by a counter
}

// restriction prepares the statement to be kept to the rows of its scope. A condition
// on nothing but the key needs none: a row that comes to meet it has no slots. With a
// limit, the other rows are left to others.
func (src source) restriction(s RowSet, where ast.ExprNode, order *ast.OrderByClause, limit *ast.Limit) *restrictToLocked {
	if len(s.Table.Key) == 0 || s.Where == nil && (s.Keys == nil || slices.Equal(keyColumns(s.Keys), s.Table.Key)) {
		return nil
	}
	limited := limit != nil && s.Where != nil && !hinted(src.node) && (order == nil || !slices.ContainsFunc(order.Items, func(item *ast.ByItem) bool {
		c, ok := columnRef(item.Expr)
		return !ok || s.Table.Column(c.Name.O) == nil || s.Table.Virtual(c.Name.O)
	}))
	if !limited && !some(where, func(c *ast.ColumnName) bool { return !s.Table.Key.Has(c.Name.O) }) {
		return nil
	}
	n := src.restrict(where)
	if limited {
		n.First = src.few(true, limit)
	}
	return n
}

// restrict cuts the statement where its condition gets another one.
func (src source) restrict(where ast.ExprNode) *restrictToLocked {
	start, end := src.whereSpan()
	return &restrictToLocked{Before: src.text[:start] + " (" + src.text[start:end] + ") AND (", After: ")" + src.text[end:], Most: len(src.keys(where))}
}

// MaxNarrowed bounds the keys written into a statement, MaxNarrowedOr those of
// several columns: the server compares each row with each of these.
const (
	MaxNarrowed   = 10000
	MaxNarrowedOr = 1000
)

// Rows is the condition of the rows that the statement may be kept to: the first ones, if
// it has a limit, or, where that can't be bound, all in the statement's scope.
func (n *restrictToLocked) Rows(all RowSet, b Binder, locksGaps bool) (s RowSet, where string, ok bool) {
	s = all
	switch {
	case n.By != nil:
		s.Where, s.byCounters = n.By, true
	case n.First != nil:
		s = *n.First
	}
	if where, ok = s.Bind(b); !ok && n.First != nil && !locksGaps {
		where, ok = all.Bind(b)
	}
	return s, where, ok
}
