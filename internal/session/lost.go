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

// LostConn is what the leader has in place of the connection.
type LostConn struct{}

var lostWire = Wire{Raw: LostConn{}, Below: LostConn{}, Execer: LostConn{}, Queryer: LostConn{}, status: reflect.ValueOf(uint16(statusAutocommit))}

func (LostConn) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrBadConn }

func (LostConn) Begin() (driver.Tx, error) { return nil, driver.ErrBadConn }

func (LostConn) Close() error { return nil }

func (LostConn) IsValid() bool { return false }

func (LostConn) Ping(context.Context) error { return driver.ErrBadConn }

func (LostConn) ResetSession(context.Context) error { return driver.ErrBadConn }

func (LostConn) CheckNamedValue(*driver.NamedValue) error { return nil }

func (LostConn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, driver.ErrBadConn
}

func (LostConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return nil, driver.ErrBadConn
}

func (LostConn) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return nil, driver.ErrBadConn
}

func (LostConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
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
