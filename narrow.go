package countermysql

import (
	"context"
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// narrowing is a statement that waits for a condition on the key.
type narrowing struct {
	before, after string // "" if the text may not be changed
	most          int    // rows that can meet the statement's own condition; 0: not known

	by    *fragment // the statement's condition, if it reads counters: the rows are locked by it after all have been rolled up
	first *scope    // the rows that its limit leaves; nil: it has none, or an order by a counter
}

// narrowing prepares the statement to be kept to the rows of its scope. A condition
// on nothing but the key needs none: a row that comes to meet it has no slots. With a
// limit, the other rows are left to others.
func (a *analysis) narrowing(s scope, source *ast.TableSource, where ast.ExprNode, order *ast.OrderByClause, limit *ast.Limit) *narrowing {
	if len(s.t.key) == 0 || s.where == nil && (s.pins == nil || slices.Equal(keyColumns(s.pins), s.t.key)) {
		return nil
	}
	limited := limit != nil && s.where != nil && !hinted(source) && (order == nil || !slices.ContainsFunc(order.Items, func(item *ast.ByItem) bool {
		c, ok := columnRef(item.Expr)
		return !ok || s.t.column(c.Name.O) == nil || s.t.virtual(c.Name.O)
	}))
	if !limited && !some(where, func(c *ast.ColumnName) bool { return !s.t.inKey(c.Name.O) }) {
		return nil
	}
	n := a.narrowed(s, where)
	if limited {
		n.first = a.few(s.t, s.name, true, limit)
	}
	return n
}

func (a *analysis) narrowed(s scope, where ast.ExprNode) *narrowing {
	start, end := a.whereSpan()
	return &narrowing{before: a.text[:start] + " (" + a.text[start:end] + ") AND (", after: ")" + a.text[end:], most: len(a.pins(s.t, s.name, where))}
}

// maxNarrowed bounds the keys written into a statement, maxNarrowedOr those of
// several columns: the server compares each row with each of these.
const (
	maxNarrowed   = 10000
	maxNarrowedOr = 1000
)

// takeFor rolls up the keys that a statement concerns and gives the text to send.
// Where nothing keeps other rows from coming to meet its condition meanwhile, whose
// slots would stay standing, or where it has a limit, the statement is kept to the rows
// locked here.
func (c *conn) takeFor(ctx context.Context, k *call) (string, error) {
	n, b, locksGaps := k.plan.narrowing, k.binder(), c.locksGaps()
	asItIs := func() (string, error) { return k.text, c.take(ctx, k.plan, b) }
	if n == nil || locksGaps && n.by == nil && (n.first == nil || k.addsFloats()) {
		return asItIs()
	}
	s, where, ok := n.rows(k.plan.scopes[0], b, locksGaps)
	switch {
	case n.by != nil:
		if _, err := asItIs(); err != nil {
			return "", err
		}
	case !ok:
		return asItIs()
	}
	var rows []lockedRow
	if ok {
		var err error
		rows, err = c.lock(ctx, s.t, quoteIdent(s.name), s.from(), where)
		if ok = !badValue[errorNumber(err)]; ok && err != nil {
			return "", err
		}
	}
	tooMany := len(rows) > maxNarrowed || len(rows) > maxNarrowedOr && len(s.t.key) > 1 || len(rows) > c.several(s.t, len(rows), eachOf(rows, lockedRow.keyOf))
	refusable := c.session.safe && n.first == nil // as it is, but not by keys, nor with a limit
	switch {
	case locksGaps && ok && n.by != nil:
		return k.text, c.fold(ctx, s.t, rows)
	case locksGaps && tooMany:
		return asItIs()
	case !ok, tooMany, n.before == "", refusable: // no other row changes then, and a new one has no slots
		if err := c.lockWhole(ctx, s.t); err != nil {
			return "", err
		}
		return asItIs()
	}
	if err := c.fold(ctx, s.t, rows); err != nil || n.most > 0 && len(rows) == n.most {
		return k.text, err
	}
	return k.keptTo(s, rows), nil
}

// keptTo is the statement for none but the given rows of its scope.
func (k *call) keptTo(s scope, rows []lockedRow) string {
	n := k.plan.narrowing
	if n == nil {
		return k.text
	}
	return k.own(n.before + s.t.whereLocked(rows, quoteIdent(s.name)) + n.after)
}

// rows is the condition of the rows that the statement may be kept to: the first ones, if
// it has a limit, or, where that can't be bound, all in the statement's scope.
func (n *narrowing) rows(all scope, b binder, locksGaps bool) (s scope, where string, ok bool) {
	s = all
	switch {
	case n.by != nil:
		s.where = n.by
	case n.first != nil:
		s = *n.first
	}
	if where, ok = s.bind(b); !ok && n.first != nil && !locksGaps {
		where, ok = all.bind(b)
	}
	return s, where, ok
}

// whereLocked selects the given rows of the table called name.
func (t *table) whereLocked(rows []lockedRow, name string) string {
	if len(rows) == 0 { // for FALSE, MariaDB's RETURNING would give no columns
		col := name + "." + quoteIdent(t.key[0].name)
		return "NULLIF(" + col + ", " + col + ") = " + col
	}
	keys := make([]key, len(rows))
	for i, r := range rows {
		keys[i] = r.key
	}
	return t.whereAny(keys, name)
}
