package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// lookupConnector makes the look-up connections: they see what is committed, do not
// wait for long behind an ALTER that waits for us, and are not bound by what bounds
// the application's queries.
type lookupConnector struct{ raw driver.Connector }

func (l lookupConnector) Driver() driver.Driver { return l.raw.Driver() }

func (l lookupConnector) Connect(ctx context.Context) (_ driver.Conn, err error) {
	raw, err := l.raw.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn := &lookupConn{Conn: raw}
	defer conn.recovered(&err)
	for _, set := range []string{"SET autocommit = 1, SESSION lock_wait_timeout = 1, /*!50708 SESSION max_execution_time = 0, */ SESSION sql_select_limit = " + sqltext.NoLimit, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"} {
		if _, err := conn.ExecContext(ctx, set, nil); err != nil {
			conn.Close()
			return nil, err
		}
	}
	if conn.kin, conn.mode, err = conn.ask(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// lookupConn is a look-up connection that knows its kin and its sql_mode.
type lookupConn struct {
	driver.Conn
	kin, mode string
}

var (
	_ driver.QueryerContext  = (*lookupConn)(nil)
	_ driver.ExecerContext   = (*lookupConn)(nil)
	_ driver.SessionResetter = (*lookupConn)(nil)
	_ driver.Validator       = (*lookupConn)(nil)
)

// SQLMode is the session's sql_mode, for who reads the schema.
func (l *lookupConn) SQLMode() string { return l.mode }

func (l *lookupConn) ask(ctx context.Context) (kin, mode string, err error) {
	rows, err := l.Conn.(driver.QueryerContext).QueryContext(ctx, "SELECT "+session.KinName+", @@sql_mode", nil)
	if err != nil {
		return "", "", err
	}
	defer rows.Close()
	told := make([]driver.Value, 2)
	err = rows.Next(told)
	return answer.Texts(told)[0], answer.Texts(told)[1], err
}

type kinKey struct{}

// by is a context for queries that only a session's kin can answer.
func by(ctx context.Context, kin string) context.Context {
	return context.WithValue(ctx, kinKey{}, kin)
}

// panicked is an interceptor's panic on a look-up connection. It is an error to
// database/sql, which would not get the connection back: there are eight, and then none.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprint("countermysql: panic: ", p.value) }

func (l *lookupConn) recovered(err *error) {
	if v := recover(); v != nil {
		_ = l.Close()
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

// QueryContext runs a query; a connection that is not of the wanted kin is given up
// for a new one.
func (l *lookupConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (_ driver.Rows, err error) {
	if want, ok := ctx.Value(kinKey{}).(string); ok && want != l.kin {
		return nil, driver.ErrBadConn
	}
	defer l.recovered(&err)
	return l.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// ExecContext runs a statement.
func (l *lookupConn) ExecContext(ctx context.Context, stmt string, args []driver.NamedValue) (driver.Result, error) {
	return l.Conn.(driver.ExecerContext).ExecContext(ctx, stmt, args)
}

// ResetSession finds out whether the connection is dead.
func (l *lookupConn) ResetSession(ctx context.Context) error {
	return l.Conn.(driver.SessionResetter).ResetSession(ctx)
}

// IsValid reports whether the connection may go back to the pool.
func (l *lookupConn) IsValid() bool { return l.Conn.(driver.Validator).IsValid() }
