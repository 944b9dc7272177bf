package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// runSavepoint executes a statement that sets, goes back to or releases a savepoint.
func (c *conn) runSavepoint(ctx context.Context, k *call) (outcome, error) {
	name, err := c.SavepointName(ctx, k.Plan.Arg)
	if err != nil {
		return outcome{}, err
	}
	if k.Plan.Kind == sqltext.EffectSavepoint {
		if err := c.Join(ctx); err != nil {
			return outcome{}, err
		}
	}
	out, err := k.forward(ctx, k.text)
	if err != nil || !c.InTransaction() {
		return out, err
	}
	switch x := c.Transaction(); k.Plan.Kind {
	case sqltext.EffectSavepoint:
		x.Save(name)
	case sqltext.EffectRollbackTo:
		x.RollbackTo(name)
	default:
		x.Release(name, true)
	}
	return out, nil
}

// forwardWatched sends a statement that may go back to a savepoint.
func (k *call) forwardWatched(ctx context.Context) (outcome, error) {
	check, err := k.conn.WatchSavepoints(ctx)
	if err != nil {
		return outcome{}, err
	}
	out, err := k.forward(ctx, k.text)
	switch {
	case check == nil:
		return out, err
	case out.rows != nil:
		out.rows = answer.Over(out.rows).Then(check)
		return out, err
	}
	return out, check(err)
}
