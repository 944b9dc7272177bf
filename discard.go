package countermysql

import (
	"context"
	"strings"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// discard runs f, which folds for a statement and runs it. The values that stand-ins were
// given for must be gone behind it, or else all is as it was before, and it fails.
func (c *conn) discard(ctx context.Context, k *call, f func() (outcome, error)) (outcome, error) {
	d := &plan.Discarding{Counters: k.Plan.Discards}
	c.discarding = d
	out, err := f()
	c.discarding = nil
	if out.rows != nil && err == nil && d.Stands != nil {
		out.rows = answer.Over(out.rows).Then(func(err error) error { return c.discarded(ctx, d, err) })
		return out, nil
	}
	if err = c.discarded(ctx, d, err); err != nil {
		return outcome{}, err
	}
	return out, nil
}

func (c *conn) discarded(ctx context.Context, d *plan.Discarding, err error) error {
	if d.Stands == nil || c.Open() == nil { // an error has ended the transaction
		return err
	}
	for _, s := range d.Stands {
		if err != nil {
			break
		}
		var left [][]string
		if left, err = c.Read(ctx, c.Unsnapshot()+"SELECT 1 FROM "+s.Table.From()+" WHERE "+s.Where+" LIMIT 1 FOR UPDATE"); left != nil {
			err = s.Column.OutOfRange()
		}
	}
	if err == nil {
		c.Tx.Release(ownSavepoint, false)
		_, err = c.Do(ctx, "RELEASE SAVEPOINT "+ownSavepoint)
		return err
	}
	if c.Open() == nil {
		return err
	}
	if _, rerr := c.Do(context.WithoutCancel(ctx), "ROLLBACK TO SAVEPOINT "+ownSavepoint); rerr != nil {
		_ = c.Raw.Close() // or the application might commit the stand-ins
		return err
	}
	c.Tx.RollbackTo(ownSavepoint)
	c.Tx.Release(ownSavepoint, false)
	return err
}

// stand notes that rows are about to get stand-ins.
func (c *conn) stand(ctx context.Context, f *slotsql.Folding) error {
	d := c.discarding
	if d.Stands == nil {
		if _, err := c.Do(ctx, "SAVEPOINT "+ownSavepoint); err != nil {
			return err
		}
		c.Transaction().Save(ownSavepoint)
	}
	d.Stands = append(d.Stands, plan.StandIn{Table: f.Table, Column: f.Stood, Where: strings.Join(f.Stands, " OR ")})
	return nil
}
