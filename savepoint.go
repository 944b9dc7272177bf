package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// runSavepoint executes a statement that sets, goes back to or releases a savepoint.
func (c *conn) runSavepoint(ctx context.Context, k *call, name string) (answer.Outcome, error) {
	name, err := c.SavepointName(ctx, name)
	if err != nil {
		return answer.Outcome{}, err
	}
	if _, makes := k.Plan.Effect.(sqltext.MakeSavepoint); makes {
		if err := c.Join(ctx); err != nil {
			return answer.Outcome{}, err
		}
	}
	out, err := k.Send(ctx, k.text)
	if err != nil || !c.InTransaction() {
		return out, err
	}
	switch x := c.Transaction(); k.Plan.Effect.(type) {
	case sqltext.MakeSavepoint:
		x.Save(name)
	case sqltext.ReturnTo:
		x.RollbackTo(name)
	default:
		x.Release(name, true)
	}
	return out, nil
}

// sendWatched sends a statement that may go back to a savepoint.
func (k *call) sendWatched(ctx context.Context) (answer.Outcome, error) {
	check, err := k.conn.WatchSavepoints(ctx)
	if err != nil {
		return answer.Outcome{}, err
	}
	out, err := k.Send(ctx, k.text)
	switch {
	case check == nil:
		return out, err
	case out.Rows != nil:
		out.Rows = answer.Over(out.Rows).Then(check)
		return out, err
	}
	return out, check(err)
}
