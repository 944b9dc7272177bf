package lookups

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// connector makes the look-up connections: they see what is committed, do not
// wait for long behind an ALTER that waits for us, and are not bound by what bounds
// the application's queries.
type connector struct {
	raw  driver.Connector
	pool *Pool
}

func (c connector) Driver() driver.Driver { return c.raw.Driver() }

func (c connector) Connect(ctx context.Context) (_ driver.Conn, err error) {
	opened := int64(catalog.Clock())
	raw, err := c.raw.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn := &Conn{Conn: raw, pool: c.pool, opened: opened}
	defer conn.recovered(&err)
	for _, set := range []string{"SET autocommit = 1, completion_type = 0, SESSION lock_wait_timeout = 1, /*!50708 SESSION max_execution_time = 0, */ " + sqltext.Untimed + "SESSION sql_select_limit = " + sqltext.NoLimit, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"} {
		if _, err := conn.ExecContext(ctx, set, nil); err != nil {
			conn.Close()
			return nil, err
		}
	}
	if conn.affinity, conn.mode, err = conn.ask(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ServerSQL is the SQL of a server's name.
const ServerSQL = "CONCAT(@@hostname, ':', @@port)"

// AffinitySQL is the SQL of what sessions have in common that may do something for each
// other. Those of one DSN may differ. After a failover, or behind a load balancer, they
// are on different servers, and what one shows of slots may be old to another: to fold
// that would lose counts. And mysql.BeforeConnect may give each another user, or other
// settings, by which it computes otherwise.
const AffinitySQL = "CONCAT_WS(' ', " + ServerSQL + ", CURRENT_USER(), @@time_zone, @@sql_mode, @@character_set_client, @@collation_connection)"

// Conn is a look-up connection that knows its affinity and its sql_mode.
type Conn struct {
	driver.Conn
	pool           *Pool
	opened         int64 // by catalog.Clock
	affinity, mode string
}

var (
	_ driver.QueryerContext  = (*Conn)(nil)
	_ driver.ExecerContext   = (*Conn)(nil)
	_ driver.SessionResetter = (*Conn)(nil)
	_ driver.Validator       = (*Conn)(nil)
)

// SQLMode is the session's sql_mode, for who reads the schema.
func (c *Conn) SQLMode() string { return c.mode }

func (c *Conn) ask(ctx context.Context) (affinity, mode string, err error) {
	rows, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, "SELECT "+AffinitySQL+", @@sql_mode", nil)
	if err != nil {
		return "", "", err
	}
	defer rows.Close()
	told := make([]driver.Value, 2)
	err = rows.Next(told)
	return sqltext.Texts(told)[0], sqltext.Texts(told)[1], err
}

type affinityKey struct{}

// panicked is an interceptor's panic on a look-up connection. It is an error to
// database/sql, which would not get the connection back: there are eight, and then none.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprint("countermysql: panic: ", p.value) }

func (c *Conn) recovered(err *error) {
	if v := recover(); v != nil {
		_ = c.Close()
		*err = panicked{v}
	}
}

// passPanic panics where an interceptor did.
func passPanic(err error) {
	var p panicked
	if errors.As(err, &p) {
		panic(p.value)
	}
}

type uncommittedKey struct{}

// Uncommitted is a context whose query sees what is not committed, too.
func Uncommitted(ctx context.Context) context.Context {
	return context.WithValue(ctx, uncommittedKey{}, true)
}

// QueryContext runs a query; a connection that is not of the wanted affinity is given up
// for a new one.
func (c *Conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (_ driver.Rows, err error) {
	if want, ok := ctx.Value(affinityKey{}).(string); ok && want != c.affinity {
		return nil, driver.ErrBadConn
	}
	defer c.recovered(&err)
	if ctx.Value(uncommittedKey{}) != nil {
		if _, err := c.ExecContext(ctx, "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", nil); err != nil { // of the next statement alone
			return nil, err
		}
		defer func() {
			if err != nil { // it may not have been one
				_ = c.Close()
			}
		}()
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// ExecContext runs a statement.
func (c *Conn) ExecContext(ctx context.Context, stmt string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, stmt, args)
}

// ResetSession finds out whether the connection is dead, or others have taken the place of its like.
func (c *Conn) ResetSession(ctx context.Context) error {
	if c.opened < c.pool.renewed.Load() {
		return driver.ErrBadConn
	}
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

// IsValid reports whether the connection may go back to the pool.
func (c *Conn) IsValid() bool { return c.Conn.(driver.Validator).IsValid() }
