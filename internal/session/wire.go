package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"reflect"
)

// Wire is the connection of a session: what sends, and the server's status as its last
// answer has told it. It knows nothing of what is sent, and tells nobody of an error.
type Wire struct {
	Raw     driver.Conn // go-sql-driver's, or the interceptor's wrapper around it
	Below   driver.Conn // go-sql-driver's
	Execer  driver.ExecerContext
	Queryer driver.QueryerContext
	status  reflect.Value // of go-sql-driver's connection: the server's status flags

	prepared preparedTexts
}

// newWire is that of a connection; below is go-sql-driver's.
func newWire(raw, below driver.Conn) (Wire, error) {
	status := reflect.ValueOf(below).Elem().FieldByName("status")
	if !status.IsValid() || !status.CanUint() {
		return Wire{}, errors.New("countermysql: this version of go-sql-driver/mysql does not tell the transaction's state; use the version in countermysql's go.mod")
	}
	return Wire{Raw: raw, Below: below, Execer: raw.(driver.ExecerContext), Queryer: raw.(driver.QueryerContext), status: status}, nil
}

// Flags of the server's status (https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html).
const (
	statusInTransaction = 1 << 0
	statusAutocommit    = 1 << 1
	statusReadOnly      = 1 << 13
)

func (w *Wire) Autocommit() bool { return w.status.Uint()&statusAutocommit != 0 }

// Begun reports whether a transaction is open on the server.
func (w *Wire) Begun() bool { return w.status.Uint()&statusInTransaction != 0 }

// implies reports whether the next statement that uses a table begins a transaction:
// with autocommit = 0.
func (w *Wire) implies() bool { return !w.Autocommit() && !w.Begun() }

// ReadOnly reports whether the open transaction refuses writes; then the
// server says so at once.
func (w *Wire) ReadOnly() bool { return w.status.Uint()&statusReadOnly != 0 }

// Usable reports whether go-sql-driver would send a statement: the connection is not
// closed, and no rows of it are open. What can't be sent can't be pending.
func (w *Wire) Usable() bool {
	v, ok := w.Below.(driver.Validator)
	return !ok || v.IsValid()
}

// Lost reports whether a deputy has the connection.
func (w *Wire) Lost() bool {
	_, lost := w.Raw.(lostConn)
	return lost
}

// Try has the server run a query of which nothing is read; its answer is no error of the
// application's.
func (w *Wire) Try(ctx context.Context, query string) error {
	rows, err := w.Queryer.QueryContext(ctx, query, nil)
	if err != nil {
		return err
	}
	return rows.Close()
}

// askStatus asks for the status flags, which an error does not bring, by a
// statement that leaves warnings as they are.
func (w *Wire) askStatus() error {
	ctx, cancel := context.WithTimeout(context.Background(), Linger)
	defer cancel()
	return w.Try(ctx, "SHOW WARNINGS LIMIT 0")
}

// CheckNamedValue converts an argument as go-sql-driver does.
func (w *Wire) CheckNamedValue(v *driver.NamedValue) error {
	return w.Raw.(driver.NamedValueChecker).CheckNamedValue(v)
}

// ResetSession prepares the connection for its next user.
func (w *Wire) ResetSession(ctx context.Context) error {
	if r, ok := w.Raw.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}
