package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// handle is the driver.Tx of BeginTx. Its BEGIN is sent with the first
// statement that needs it: a transaction of nothing but increments never does.
type handle struct {
	*session.Deferred
	conn *conn
}

// Begin starts a transaction; database/sql uses BeginTx.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx starts a transaction.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := c.SendBegin(ctx); err != nil { // of a transaction that is not over
		return nil, err
	}
	next := c.Begins()
	if err := c.sendOrRollBack(ctx); err != nil { // START TRANSACTION commits what is open
		return nil, err
	}
	h := &handle{&session.Deferred{Opts: opts}, c}
	level := isolationName(opts.Isolation)
	if c.mayDefer(opts) {
		c.Ended()
		c.Unbegun = h.Deferred
	} else {
		raw, err := c.Raw.(driver.ConnBeginTx).BeginTx(ctx, opts)
		if err != nil {
			return nil, c.Failed(err)
		}
		c.Locks = false // by BEGIN
		c.Ended()
		h.Raw = raw
	}
	c.Ctx, c.Next = ctx, next
	if level != "" {
		c.Next = level
	}
	return h, nil
}

// mayDefer reports whether it can't be told that BEGIN has not been sent yet.
func (c *conn) mayDefer(opts driver.TxOptions) bool {
	level := isolationName(opts.Isolation)
	return c.grouped() && !c.InTransaction() && !c.Stale && !c.Locks && !opts.ReadOnly && !c.Settings.ReadOnly && !c.Settings.Completes &&
		level != sqltext.Serializable && (level != "" || opts.Isolation == 0 && c.Settings.Isolation != sqltext.Serializable)
}

func isolationName(level driver.IsolationLevel) string {
	names := [...]string{"", "READ UNCOMMITTED", "READ COMMITTED", "", sqltext.RepeatableRead, "", sqltext.Serializable, ""}
	if int(level) >= len(names) {
		return "" // go-sql-driver refuses it
	}
	return names[level]
}

// Commit sends the pending increments, then commits.
func (h *handle) Commit() error {
	defer h.conn.CloseOnPanic()
	c, ctx := h.conn, context.Background()
	if c.Broken != nil {
		c.Ended()
		return c.Broken
	}
	if c.Tx != nil {
		c.Tx.Due()
	}
	if s := c.connector.watcher.Current(); s != nil {
		if err := c.adopt(ctx, s); err != nil {
			return err
		}
	}
	if h.Raw != nil {
		return h.commit(ctx)
	}
	if done, err := c.commitTogether(ctx); done {
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
	if done, err := c.commitInOnePacket(ctx); done {
		c.EndedByUser()
		return err
	}
	if err := c.send(ctx); err != nil {
		c.Ended()
		if rerr := h.Raw.Rollback(); rerr != nil {
			_ = c.Raw.Close() // or what was sent might be committed
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

// commitInOnePacket sends the pending increments of one table and COMMIT as one
// text, where the DSN allows that; done is false if nothing was done. The server
// stops at the first error, so that COMMIT is never reached without the increments
// (https://dev.mysql.com/doc/c-api/8.4/en/c-api-multiple-queries.html).
func (c *conn) commitInOnePacket(ctx context.Context) (done bool, err error) {
	x := c.Open()
	if !c.connector.cfg.MultiStatements || x == nil {
		return false, nil
	}
	x.DropEmpty()
	unsent := x.Unsent()
	if len(unsent) != 1 {
		return false, nil
	}
	if sorted := unsent[0].Sorted(); len(sorted) > c.Several(unsent[0].Table, plan.SendBatch, session.EachOf(sorted, (*slotsql.RowIncrement).KeyOf)) {
		return false, nil // after an error it could not be told what was done
	}
	t, entries := unsent[0].Table, unsent[0].Sorted()
	_, err = c.Do(ctx, c.upsert(t, entries).Strict()+"; COMMIT")
	switch {
	case err == nil:
		x.Sent = true
		c.connector.background.Slotted(&c.connector.batch(t, t.Spec.Name, t.Key).keys, entries)
	case rowGone(err), mysqlerr.BadValue[mysqlerr.Number(err)], errors.Is(err, driver.ErrBadConn): // perhaps to another key, or it has another type; nothing was sent
		return false, nil
	case mysqlerr.Number(err) != 0 && c.InTransaction():
		_ = c.RollBack() // the first error is the one to report
	}
	return true, err
}

// commitTogether hands a transaction of nothing but increments to the group
// commit, all or nothing; done is false where it has to be sent by itself.
func (c *conn) commitTogether(ctx context.Context) (done bool, err error) {
	if c.Tx == nil {
		return true, nil
	}
	c.Tx.DropEmpty()
	unsent := c.Tx.Unsent()
	if len(unsent) == 0 {
		return true, nil
	}
	t := unsent[0].Table
	u := c.request(unsent[0].Sorted())
	if len(unsent) > 1 || !u.Fits() {
		return false, nil
	}
	h, tx := c.Unbegun, c.Tx
	c.Unbegun, c.Tx = nil, nil                 // the batch is no part of the transaction,
	defer func() { c.Unbegun, c.Tx = h, tx }() // which a deadlock of the batch leaves as it is
	v := c.together(ctx, c.connector.batch(t, t.Spec.Name, t.Key), u, true)
	tx.Sent = !v.Alone && v.Err == nil
	return !v.Alone, v.Err
}

// Rollback drops the pending increments and rolls back.
func (h *handle) Rollback() error {
	defer h.conn.EndedByUser()
	if h.Raw == nil || h.conn.Broken != nil {
		return h.conn.Broken
	}
	return h.Raw.Rollback()
}
