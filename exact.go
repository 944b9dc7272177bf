package countermysql

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// runExact rolls up the keys concerned and runs the statement as it is, in one
// transaction: the open one, or one of its own.
func (c *conn) runExact(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	if c.inTransaction() {
		if p.guarded != "" && c.transaction().isolation != repeatableRead && c.transaction().isolation != serializable && len(c.tx.pending) == 0 && !k.rows {
			if out, err := k.forward(ctx, k.own(p.guarded)); err != nil || out.affected() > 0 {
				c.noteWrites(p.writes, k.binder(), 1)
				return out, err
			}
		}
		c.transaction().rolledUp = nil
		out, err := outcome{}, c.take(ctx, p.scopes, k.binder())
		if err == nil {
			out, err = k.forward(ctx, k.text)
			c.fixed = c.fixed || p.fixes
		}
		if err == nil {
			c.noteWrites(p.writes, k.binder(), out.affected())
		}
		if c.tx != nil { // it goes on, perhaps after an error
			c.tx.noteVain(err != nil || out.affected() == 0 || p.writes == nil)
		}
		return out, err
	}
	if p.guarded != "" && !k.rows {
		if out, err := k.forward(ctx, k.own(p.guarded)); err != nil || out.affected() > 0 {
			return out, err
		}
	}
	return c.runAlone(ctx, k)
}

// runAlone is the exact way outside a transaction. It is gone again after a
// deadlock, which undid it: rows that are not there yet are locked before they are
// inserted, so that two inserts side by side deadlock that never would by themselves.
func (c *conn) runAlone(ctx context.Context, k *call) (outcome, error) {
	for try := 0; ; try++ {
		out, err := c.tryAlone(ctx, k)
		if errorNumber(err) != errDeadlock || try == maxRetries {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(rand.N(time.Millisecond << try)): // or the same meet again
		}
	}
}

func (c *conn) tryAlone(ctx context.Context, k *call) (outcome, error) {
	if _, err := c.do(ctx, "BEGIN"); err != nil {
		return outcome{}, err
	}
	finish := func(err error) error {
		c.ended()
		if err != nil || c.lost {
			_, rerr := c.do(context.WithoutCancel(ctx), "ROLLBACK")
			return errors.Join(err, rerr)
		}
		_, err = c.do(ctx, "COMMIT")
		return err
	}
	out, err := outcome{}, c.take(ctx, k.plan.scopes, k.binder())
	if err == nil {
		out, err = k.forward(ctx, k.text)
	}
	if err != nil {
		_ = finish(err)
		return outcome{}, err
	}
	if out.rows == nil {
		err := finish(nil)
		c.lastRows = rowCount{out.affected(), true}
		return out, err
	}
	rows, ok := out.rows.(*countedRows)
	if !ok {
		rows = &countedRows{physicalRows: out.rows.(physicalRows)}
	}
	first := rows.finish
	rows.finish = func(err error) error {
		if first != nil {
			err = errors.Join(err, first(err))
		}
		return finish(err)
	}
	return outcome{rows: rows}, nil
}
