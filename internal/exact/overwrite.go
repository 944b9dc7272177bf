package exact

import (
	"context"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/plan"
)

// runOverwriting runs a statement that does nothing but give counters of one row values
// which read none, as applications do that count anew: UPDATE post SET likes = (SELECT
// COUNT(*) FROM post_like …). Inside a transaction it is sent first, as on plain MySQL,
// where all that is between two statements makes deadlocks likelier; then it is asked
// whether the row, which is locked now, has slots. If it has, the row gets back what it
// was, and done is false: it goes the exact way.
func (r *Runner) runOverwriting(ctx context.Context, x Execution) (out answer.Outcome, done bool, err error) {
	t := r.Transaction()
	if !x.Overwrites || x.Asked || r.hasReserve(x) || t.Inside || r.Unbegun != nil || r.Locks || t.Concerns(x.Rows[0].Table) {
		return answer.Outcome{}, false, nil
	}
	s := x.Rows[0]
	where, ok := plan.BindKeys(x.Plan.Writes[0].Keys, s.Name, x.Arguments.Binder)
	if !ok {
		return answer.Outcome{}, false, nil
	}
	if out, err = x.Send(ctx, x.Text); err != nil {
		return out, true, err
	}
	was, err := r.HadSlots(ctx, s, where)
	if err == nil && was != "" && out.Affected() > 0 {
		_, err = r.Do(ctx, r.Settings.Unsnapshot()+"UPDATE "+s.From()+" SET "+was+" WHERE "+where)
	}
	if err != nil && r.InTransaction() { // it may not be committed as it is
		if rerr := r.Cut(ctx, err); ctx.Err() != nil {
			return answer.Outcome{}, true, rerr
		}
		return answer.Outcome{}, true, r.AsDeadlock("it can't be told whether a row of " + s.Table.String() + " has slots (" + err.Error() + ")")
	}
	return out, was == "", err
}
