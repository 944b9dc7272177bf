package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// handle is the driver.Tx of BeginTx. Its BEGIN is sent with the first
// statement that needs it: a transaction of nothing but increments never does.
type handle struct {
	conn *conn
	opts driver.TxOptions
	raw  driver.Tx // nil: not begun
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
	if err := c.begin(ctx); err != nil { // of a transaction that is not over
		return nil, err
	}
	next := c.begins()
	if err := c.sendOrRollBack(ctx); err != nil { // START TRANSACTION commits what is open
		return nil, err
	}
	h := &handle{conn: c, opts: opts}
	level := isolationName(opts.Isolation)
	if c.mayDefer(opts) {
		c.ended()
		c.unbegun = h
	} else {
		raw, err := c.raw.(driver.ConnBeginTx).BeginTx(ctx, opts)
		if err != nil {
			return nil, c.failed(err)
		}
		c.locks = unlocked // by BEGIN
		c.ended()
		h.raw = raw
	}
	c.ctx, c.next = ctx, next
	if level != "" {
		c.next = level
	}
	return h, nil
}

// mayDefer reports whether it can't be told that BEGIN has not been sent yet.
func (c *conn) mayDefer(opts driver.TxOptions) bool {
	level := isolationName(opts.Isolation)
	return c.grouped() && !c.inTransaction() && !c.dirty && c.locks == unlocked && !opts.ReadOnly && !c.session.readOnly && !c.session.completes &&
		level != sqltext.Serializable && (level != "" || opts.Isolation == 0 && c.session.isolation != sqltext.Serializable)
}

func isolationName(level driver.IsolationLevel) string {
	names := [...]string{"", "READ UNCOMMITTED", "READ COMMITTED", "", sqltext.RepeatableRead, "", sqltext.Serializable, ""}
	if int(level) >= len(names) {
		return "" // go-sql-driver refuses it
	}
	return names[level]
}

// begin sends the BEGIN that is still to be sent.
func (c *conn) begin(ctx context.Context) error {
	h := c.unbegun
	if h == nil {
		return nil
	}
	raw, err := c.raw.(driver.ConnBeginTx).BeginTx(ctx, h.opts)
	if err != nil {
		return c.failed(err)
	}
	c.unbegun, h.raw = nil, raw
	return nil
}

// savedUnbegun reports whether there are savepoints with autocommit = 0 and no
// transaction yet: a BEGIN would end them.
func (c *conn) savedUnbegun() bool {
	return c.implies() && c.tx != nil && !c.tx.journal.idle()
}

// beginImplied begins the transaction that an increment begins on plain MySQL with
// autocommit = 0.
func (c *conn) beginImplied(ctx context.Context) error {
	if !c.implies() {
		return nil
	}
	_, err := c.do(ctx, startTransaction)
	return err
}

// Commit sends the pending increments, then commits.
func (h *handle) Commit() error {
	defer h.conn.closeOnPanic()
	c, ctx := h.conn, context.Background()
	if c.broken != nil {
		c.ended()
		return c.broken
	}
	if c.tx != nil {
		c.tx.due()
	}
	if s := c.connector.current.Load(); s != nil {
		if err := c.adopt(ctx, s); err != nil {
			return err
		}
	}
	if h.raw != nil {
		return h.commit(ctx)
	}
	if done, err := c.commitTogether(ctx); done {
		c.ended()
		return err
	}
	return h.commitAlone(ctx)
}

// commitAlone commits a transaction of nothing but increments that can't go together
// with others: once more after a deadlock, as an increment outside a transaction.
func (h *handle) commitAlone(ctx context.Context) error {
	c, tx := h.conn, h.conn.tx
	return again(ctx, func() error {
		c.tx, c.unbegun = tx.anew(), h
		tx.increments = 0 // the first try has taken them out of the statistics
		if err := c.begin(ctx); err != nil {
			c.ended()
			return err
		}
		return h.commit(ctx)
	})
}

// commit commits a transaction that is begun.
func (h *handle) commit(ctx context.Context) error {
	c := h.conn
	if done, err := c.commitInOnePacket(ctx); done {
		c.endedByUser()
		return err
	}
	if err := c.send(ctx); err != nil {
		c.ended()
		if rerr := h.raw.Rollback(); rerr != nil {
			_ = c.raw.Close() // or what was sent might be committed
			if errors.Is(err, driver.ErrBadConn) {
				return rerr // the connection was closed before, and this says why
			}
		}
		return err
	}
	defer c.endedByUser()
	if err := h.raw.Commit(); err != nil {
		return c.failed(err)
	}
	return nil
}

// commitInOnePacket sends the pending increments of one table and COMMIT as one
// text, where the DSN allows that; done is false if nothing was done. The server
// stops at the first error, so that COMMIT is never reached without the increments
// (https://dev.mysql.com/doc/c-api/8.4/en/c-api-multiple-queries.html).
func (c *conn) commitInOnePacket(ctx context.Context) (done bool, err error) {
	x := c.open()
	if !c.connector.cfg.MultiStatements || x == nil {
		return false, nil
	}
	x.dropEmpty()
	unsent := x.unsent()
	if len(unsent) != 1 {
		return false, nil
	}
	if sorted := unsent[0].sorted(); len(sorted) > c.several(unsent[0].t, plan.SendBatch, eachOf(sorted, (*slotsql.RowIncrement).KeyOf)) {
		return false, nil // after an error it could not be told what was done
	}
	t, entries := unsent[0].t, unsent[0].sorted()
	_, err = c.do(ctx, c.upsert(t, entries).Strict()+"; COMMIT")
	switch {
	case err == nil:
		x.sent = true
		c.connector.slotted(c.connector.batch(t, t.Spec.Name, t.Key), entries)
	case rowGone(err), mysqlerr.BadValue[mysqlerr.Number(err)], errors.Is(err, driver.ErrBadConn): // perhaps to another key, or it has another type; nothing was sent
		return false, nil
	case mysqlerr.Number(err) != 0 && c.inTransaction():
		_ = c.rollBack() // the first error is the one to report
	}
	return true, err
}

// commitTogether hands a transaction of nothing but increments to the group
// commit, all or nothing; done is false where it has to be sent by itself.
func (c *conn) commitTogether(ctx context.Context) (done bool, err error) {
	if c.tx == nil {
		return true, nil
	}
	c.tx.dropEmpty()
	unsent := c.tx.unsent()
	if len(unsent) == 0 {
		return true, nil
	}
	t := unsent[0].t
	u := c.request(unsent[0].sorted())
	if len(unsent) > 1 || !u.Fits() {
		return false, nil
	}
	h, tx := c.unbegun, c.tx
	c.unbegun, c.tx = nil, nil                 // the batch is no part of the transaction,
	defer func() { c.unbegun, c.tx = h, tx }() // which a deadlock of the batch leaves as it is
	v := c.together(ctx, c.connector.batch(t, t.Spec.Name, t.Key), u, true)
	tx.sent = !v.Alone && v.Err == nil
	return !v.Alone, v.Err
}

// Rollback drops the pending increments and rolls back.
func (h *handle) Rollback() error {
	defer h.conn.endedByUser()
	if h.raw == nil || h.conn.broken != nil {
		return h.conn.broken
	}
	return h.raw.Rollback()
}
