package countermysql

import (
	"context"
	"database/sql/driver"

	"github.com/countermysql/countermysql/internal/session"
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
	if err := session.SetLevelBack(ctx, c.Session); err != nil {
		return nil, err
	}
	if err := c.SendBegin(ctx); err != nil { // of a transaction that is not over
		return nil, err
	}
	next := c.Begins()
	if err := c.SendOrRollBack(ctx); err != nil { // START TRANSACTION commits what is open
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
	return c.Grouped() && !c.InTransaction() && !c.Stale && !c.Locks && !opts.ReadOnly && !c.Settings.ReadOnly && !c.Settings.Completes &&
		level != sqltext.Serializable && (level != "" || opts.Isolation == 0 && c.Settings.Isolation != sqltext.Serializable)
}

func isolationName(level driver.IsolationLevel) string {
	names := [...]string{"", "READ UNCOMMITTED", "READ COMMITTED", "", sqltext.RepeatableRead, "", sqltext.Serializable, ""}
	if int(level) >= len(names) {
		return "" // go-sql-driver refuses it
	}
	return names[level]
}
