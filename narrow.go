package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// takeFor rolls up the keys that a statement concerns and gives the text to send.
// Where nothing keeps other rows from coming to meet its condition meanwhile, whose
// slots would stay standing, or where it has a limit, the statement is kept to the rows
// locked here.
func (c *conn) takeFor(ctx context.Context, k *call) (string, error) {
	n, b, locksGaps := k.Plan.Narrowing, k.binder(), c.LocksGaps()
	asItIs := func() (string, error) { return k.text, c.FoldScopes(ctx, k.Plan, b) }
	if n == nil || locksGaps && n.By == nil && n.First == nil {
		return asItIs()
	}
	s, where, ok := n.Rows(k.Plan.Scopes[0], b, locksGaps)
	switch {
	case n.By != nil:
		if _, err := asItIs(); err != nil {
			return "", err
		}
	case !ok:
		return asItIs()
	}
	var rows []slotsql.LockedRow
	if ok {
		var err error
		rows, err = c.LockRows(ctx, s.Table, sqltext.Quote(s.Name), s.From(), where)
		if ok = !mysqlerr.BadValue[mysqlerr.Number(err)]; ok && err != nil {
			return "", err
		}
	}
	tooMany := len(rows) > plan.MaxNarrowed || len(rows) > plan.MaxNarrowedOr && len(s.Table.Key) > 1 || len(rows) > c.Several(s.Table, len(rows), session.EachOf(rows, slotsql.LockedRow.KeyOf))
	refusable := c.Settings.SafeUpdates && n.First == nil // as it is, but not by keys, nor with a limit
	switch {
	case locksGaps && ok && n.By != nil:
		return k.text, c.FoldRows(ctx, s.Table, rows)
	case locksGaps && tooMany:
		return asItIs()
	case !ok, tooMany, n.Before == "", refusable: // no other row changes then, and a new one has no slots
		if err := c.LockTable(ctx, s.Table); err != nil {
			return "", err
		}
		return asItIs()
	}
	if err := c.FoldRows(ctx, s.Table, rows); err != nil || n.Most > 0 && len(rows) == n.Most {
		return k.text, err
	}
	return k.keptTo(s, rows), nil
}

// keptTo is the statement for none but the given rows of its scope.
func (k *call) keptTo(s plan.RowSet, rows []slotsql.LockedRow) string {
	n := k.Plan.Narrowing
	if n == nil {
		return k.text
	}
	return k.own(n.Before + slotsql.WhereLocked(s.Table, rows, sqltext.Quote(s.Name)) + n.After)
}
