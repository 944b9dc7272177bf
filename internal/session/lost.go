package session

import (
	"context"
	"database/sql/driver"
	"reflect"
	"time"
)

// Linger is how long a batch may go on when its leader's context has ended: long
// enough for any server that lives, and an end for one that does not.
const Linger = 10 * time.Second

// lostConn is what the leader has in place of the connection.
type lostConn struct{}

var lostWire = Wire{Raw: lostConn{}, Below: lostConn{}, Execer: lostConn{}, Queryer: lostConn{}, status: reflect.ValueOf(uint16(statusAutocommit))}

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

// Deputy is the session again, for what needs no more of it than its settings, and to end it.
func (s *Session) Deputy() *Session {
	known := Environment{Settings: s.Settings, Initial: s.Initial, Literals: s.Literals}
	return &Session{Transactions: Transactions{Shared: s.Shared, Wire: s.Wire, Environment: known}, Closed: s.Closed}
}

// LeaveToDeputy loses the connection, which is the deputy's now.
func (s *Session) LeaveToDeputy() {
	s.Wire, s.Closed = lostWire, nil
}
