package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/countermysql/countermysql/internal/session"
)

// The order at the end of a transaction: what is pending becomes due, is sorted by table and
// key, and is sent, right before COMMIT.

// Commit sends the pending increments, then commits.
func (h *handle) Commit() error {
	defer h.conn.CloseOnPanic()
	c, ctx := h.conn, context.Background()
	if c.Broken != nil {
		c.Ended()
		return c.Broken
	}
	if c.Tx != nil {
		c.Tx.Commits()
		c.Tx.Due()
	}
	if s := c.connector.watcher.Current(); s != nil {
		if err := c.Adopt(ctx, s); err != nil {
			return err
		}
	}
	if h.Raw != nil {
		return h.commit(ctx)
	}
	if done, err := c.CommitTogether(ctx); done {
		c.Ended()
		return err
	}
	return h.commitAlone(ctx)
}

// commitAlone commits a transaction of nothing but increments that can't go together
// with others: once more after a deadlock, as an increment outside a transaction.
func (h *handle) commitAlone(ctx context.Context) error {
	c, tx := h.conn, h.conn.Tx
	return session.Again(ctx, func() error {
		c.Tx, c.Unbegun = tx.Anew(), h.Deferred
		tx.Increments = 0 // the first try has taken them out of the statistics
		if err := c.SendBegin(ctx); err != nil {
			c.Ended()
			return err
		}
		return h.commit(ctx)
	})
}

// commit commits a transaction that is begun.
func (h *handle) commit(ctx context.Context) error {
	c := h.conn
	if err := c.Send(ctx); err != nil {
		c.Ended()
		if rerr := h.Raw.Rollback(); rerr != nil {
			c.Lose(rerr) // or what was sent might be committed
			if errors.Is(err, driver.ErrBadConn) {
				return rerr // the connection was closed before, and this says why
			}
		}
		return err
	}
	defer c.EndedByUser()
	if err := h.Raw.Commit(); err != nil {
		return c.Failed(err)
	}
	return nil
}

// Rollback drops the pending increments and rolls back.
func (h *handle) Rollback() error {
	defer h.conn.EndedByUser()
	if h.Raw == nil || h.conn.Broken != nil {
		return h.conn.Broken
	}
	return h.Raw.Rollback()
}
