package exact

import (
	"context"

	"github.com/countermysql/countermysql/internal/fold"
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
func (r *Runner) takeFor(ctx context.Context, x Execution) (text string, taken fold.Taken, err error) {
	n, locksGaps := x.Restriction, r.LocksGaps()
	asItIs := func() (string, fold.Taken, error) {
		taken, err := r.FoldScopes(ctx, x.Plan, x.Asked, x.Arguments.Binder)
		return x.Text, taken, err
	}
	s, where, ok := r.narrowed(x)
	switch {
	case n != nil && n.By != nil:
		if _, taken, err = asItIs(); err != nil {
			return "", nil, err
		}
	case !ok:
		return asItIs()
	}
	var rows []slotsql.LockedRow
	if ok {
		rows, err = r.LockRows(ctx, s.Table, sqltext.Quote(s.Name), s.Locking(), where)
		if ok = !mysqlerr.BadValue[mysqlerr.Number(err)]; ok && err != nil {
			return "", nil, err
		}
	}
	tooMany := len(rows) > plan.MaxNarrowed || len(rows) > plan.MaxNarrowedOr && len(s.Table.Key) > 1 || len(rows) > session.Several(&r.Settings, s.Table, len(rows), rows)
	refusable := r.Settings.SafeUpdates && n.First == nil // as it is, but not by keys, nor with a limit
	switch {
	case locksGaps && ok && n.By != nil:
		return x.Text, taken, r.FoldRows(ctx, s.Table, rows)
	case locksGaps && tooMany:
		return asItIs()
	case !ok, tooMany, n.Before == "", refusable: // no other row changes then, and a new one has no slots
		if err := r.LockTable(ctx, s.Table); err != nil {
			return "", nil, err
		}
		return asItIs()
	}
	if err := r.FoldRows(ctx, s.Table, rows); err != nil || n.Most > 0 && len(rows) == n.Most {
		return x.Text, nil, err
	}
	return x.keptTo(s, rows), nil, nil
}

// narrowed are the rows that are locked for a restricted statement; ok is false where it is not, or need not be.
func (r *Runner) narrowed(x Execution) (s plan.RowSet, where string, ok bool) {
	n, locksGaps := x.Restriction, r.LocksGaps()
	if n == nil || locksGaps && n.By == nil && n.First == nil {
		return s, "", false
	}
	return n.Rows(x.Rows[0], x.Arguments.Binder, locksGaps)
}

// keptTo is the statement for none but the given rows of its scope.
func (x Execution) keptTo(s plan.RowSet, rows []slotsql.LockedRow) string {
	n := x.Restriction
	if n == nil {
		return x.Text
	}
	return x.Own(n.Before + slotsql.WhereLocked(s.Table, rows, sqltext.Quote(s.Name)) + n.After)
}
