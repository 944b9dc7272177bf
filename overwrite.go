package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/plan"
)

// runOverwriting runs a statement that does nothing but give counters of one row values
// which read none, as applications do that count anew: UPDATE post SET likes = (SELECT
// COUNT(*) FROM post_like …). Inside a transaction it is sent first, as on plain MySQL,
// where all that is between two statements makes deadlocks likelier; then it is asked
// whether the row, which is locked now, has slots. If it has, the row gets back what it
// was, and done is false: it goes the exact way.
func (c *conn) runOverwriting(ctx context.Context, k *call) (out outcome, done bool, err error) {
	p, x := k.Plan, c.Transaction()
	if !p.Overwrites || k.rows || x.Inside || c.Unbegun != nil || c.Locks || x.Concerns(p.Scopes[0].Table) {
		return outcome{}, false, nil
	}
	s := p.Scopes[0]
	where, ok := plan.BindPins(p.Writes[0].Pins, s.Name, k.binder())
	if !ok {
		return outcome{}, false, nil
	}
	if out, err = k.forward(ctx, k.text); err != nil {
		return out, true, err
	}
	was, err := c.HadSlots(ctx, s, where)
	if err == nil && was != "" && out.affected() > 0 {
		_, err = c.Do(ctx, c.Unsnapshot()+"UPDATE "+s.From()+" SET "+was+" WHERE "+where)
	}
	if err != nil && c.InTransaction() { // it may not be committed as it is
		if rerr := c.Cut(ctx, err); ctx.Err() != nil {
			return outcome{}, true, rerr
		}
		return outcome{}, true, c.AsDeadlock("it can't be told whether a row of " + s.Table.String() + " has slots (" + err.Error() + ")")
	}
	return out, was == "", err
}
