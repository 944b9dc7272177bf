package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// runSavepoint executes a statement that sets, goes back to or releases a savepoint.
func (c *conn) runSavepoint(ctx context.Context, k *call, e sqltext.Savepoint) (answer.Outcome, error) {
	name, err := c.SavepointName(ctx, e.Name)
	if err != nil {
		return answer.Outcome{}, err
	}
	if !e.Returns && !e.Releases {
		if err := c.Join(ctx); err != nil {
			return answer.Outcome{}, err
		}
	}
	out, err := k.Send(ctx, k.text)
	if err != nil || !c.InTransaction() {
		return out, err
	}
	switch x := c.Transaction(); {
	case e.Returns:
		x.RollbackTo(name)
	case e.Releases:
		x.Release(name, true)
	default:
		x.Save(name)
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
