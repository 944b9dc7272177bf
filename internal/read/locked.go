package read

import (
	"context"
	"errors"
	"io"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// lockFirst sends a query that locks one row as it was written. answered is false if it has to be sent with
// sums: no row came, which under READ COMMITTED is not locked then, or it has slots.
func (r *Reader) lockFirst(ctx context.Context, x *Execution) (out answer.Outcome, answered bool, err error) {
	l := x.Plan.Sum().Locked
	if l == nil || !x.Rows || x.Temporary || !x.Arguments.MatchExactly([]plan.KeyValue{l.Key}) || !fold.RemembersLocked(r.Folder, l.Table) {
		return out, false, nil
	}
	if t := r.Traffic.Of(l.Table); t.Reserve.Some() || !l.ByKey() && t.Slots.Seen(catalog.Clock()) { // whose rows are locked before; and which row would be told only by locking it once more
		return out, false, nil
	}
	out, err = x.SendLook(ctx, l.Text)
	if err != nil {
		return out, !plan.Blames(err), err
	}
	rows := &lookedRows{Physical: out.Rows.(answer.Physical), hidden: l.Hidden}
	switch err = rows.peek(2); {
	case err != nil && !errors.Is(err, io.EOF):
		rows.ahead, answered = nil, !plan.Blames(err) // of a lock: the server tells when rows are read
	case len(rows.ahead) == 1:
		hidden := rows.ahead[0][len(rows.ahead[0])-l.Hidden:]
		key, asKnown := l.Row(sqltext.Texts(hidden))
		answered, err = fold.NoteLocked(ctx, r.Folder, l.Table, slotsql.LockedRow{Key: key}, asKnown)
		if err != nil {
			_ = rows.Close()
			return answer.Outcome{}, true, err
		}
	}
	if !answered {
		_ = rows.Close() // if it fails, so does what is sent next
		return answer.Outcome{}, false, nil
	}
	out.Rows = rows
	return out, true, nil
}
