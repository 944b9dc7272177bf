package countermysql

import (
	"context"
	"database/sql/driver"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/groupcommit"
)

// linger is how long a batch may go on when its leader's context has ended: long
// enough for any server that lives, and an end for one that does not.
const linger = 10 * time.Second

// lingerLocked is linger for a batch that waits for a lock, as everybody in it would by
// himself.
const lingerLocked = 10 * time.Minute

// outlive is a context for what others wait for as well: a cancelled one closes
// the connection, which would leave all of them in the dark.
func outlive(leader context.Context, linger time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(leader))
	stop := context.AfterFunc(leader, func() {
		select {
		case <-ctx.Done():
		case <-time.After(linger):
			cancel()
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// leading is the sending of so many requests on the connection of the first one's caller, who leads.
// When its context ends, it does not wait for what it sends for others as well: it has
// lost the connection then, as it would have by itself, and a deputy goes on with that and
// closes it in the end.
func (c *conn) leading(ctx context.Context, requests int, linger time.Duration, run func(ctx context.Context, c *conn)) groupcommit.Sending {
	if requests == 1 || ctx.Done() == nil {
		return groupcommit.Sending{Run: func() { run(ctx, c) }, Lost: mysql.ErrInvalidConn}
	}
	d, settled := c.deputy(), new(atomic.Bool)
	return groupcommit.Sending{
		Run: func() {
			shared, cancel := outlive(ctx, linger)
			defer cancel()
			defer func() {
				if settled.CompareAndSwap(false, true) {
					return
				}
				_ = d.Close()
				if v := recover(); v != nil { // nobody is left whom it could reach
					d.connector.log.Error("countermysql: panic", "value", v)
					panic(v)
				}
			}()
			run(shared, d)
		},
		Leave: func() bool {
			if !settled.CompareAndSwap(false, true) {
				return false
			}
			c.raw, c.below, c.execer, c.queryer, c.status, c.closed = lostConn{}, lostConn{}, lostConn{}, lostConn{}, lostStatus, nil
			return true
		},
		Lost: mysql.ErrInvalidConn,
	}
}

// deputy is the session again, for what needs no more of it than its settings.
func (c *conn) deputy() *conn {
	return &conn{
		connector: c.connector, raw: c.raw, below: c.below, execer: c.execer, queryer: c.queryer, status: c.status, closed: c.closed,
		session: c.session, initial: c.initial, literals: c.literals,
	}
}

// lost reports whether a deputy has the connection.
func (c *conn) lost() bool {
	_, lost := c.raw.(lostConn)
	return lost
}

// lostConn is what the leader has in place of the connection.
type lostConn struct{}

var lostStatus = reflect.ValueOf(uint16(statusAutocommit))

func (lostConn) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrBadConn }

func (lostConn) Begin() (driver.Tx, error) { return nil, driver.ErrBadConn }

func (lostConn) Close() error { return nil }

func (lostConn) IsValid() bool { return false }

func (lostConn) Ping(context.Context) error { return driver.ErrBadConn }

func (lostConn) ResetSession(context.Context) error { return driver.ErrBadConn }

func (lostConn) CheckNamedValue(*driver.NamedValue) error { return nil }

func (lostConn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, driver.ErrBadConn
}

func (lostConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return nil, driver.ErrBadConn
}

func (lostConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return nil, driver.ErrBadConn
}

func (lostConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, driver.ErrBadConn
}
