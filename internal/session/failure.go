package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// Refused reports whether a statement was not to wait for a lock, and would have had to. What
// can't go at once goes another way: the error is taken out of the statistics.
func (s *Session) Refused(err error) bool {
	n := mysqlerr.Number(err)
	refused := n == mysqlerr.ErrLockWait || n == mysqlerr.ErrNoWait
	if refused {
		s.Stats.Unheard(n)
	}
	return refused
}

// Failed notes an error. It may have ended the transaction (a deadlock, DDL that
// commits and then fails), which the server does not tell with it. What is sent on a
// connection that was given up fails by the error for which it was.
func (s *Session) Failed(err error) error {
	n := mysqlerr.Number(err)
	if n == 0 {
		if err != nil && s.untold != nil {
			return s.Untold()
		}
		return err
	}
	s.Stats.Failed(n)
	if n == mysqlerr.ErrReadOnly { // what is refused is not the transaction that SET TRANSACTION has spoken of
		s.Spent = false
	}
	if known := s.Watcher.Current(); known != nil && (n == mysqlerr.ErrNoIndex || n == mysqlerr.ErrNoTable && slices.ContainsFunc(known.All(), func(t *catalog.Table) bool {
		return strings.Contains(err.Error(), "."+t.Spec.SlotsTable+"'")
	})) {
		s.Watcher.NoteChange() // nobody but the driver names these: another process has changed them
	}
	if s.Begun() {
		if serr := s.askStatus(); serr != nil {
			s.Lose(serr)
		} else if !s.Begun() {
			s.Ended()
		}
	}
	return err
}

// Overlook notes an error that the application need not know of: a statement of the
// driver's has failed without which it can do. If that has ended the transaction, what
// comes next would be committed by itself.
func (s *Session) Overlook(err error) {
	if mysqlerr.Number(err) == 0 {
		return // there is none, or it is the connection's, and tells whoever comes next
	}
	if begun := s.Begun(); s.Failed(err) != nil && begun && !s.Begun() {
		s.Lose(err)
	}
}

// Lose gives the connection up, so that the server rolls its transaction back, and tells
// whoever comes next why.
func (s *Session) Lose(err error) {
	usable := s.Usable()
	_ = s.Raw.Close()
	if !usable {
		return // it was closed before, and that tells
	}
	if s.untold = err; mysqlerr.Number(err) == 0 {
		s.untold = mysql.ErrInvalidConn
	}
}

// Untold is why the driver has given the connection up, if the application does not know
// yet; who asks tells it.
func (s *Session) Untold() error {
	why := s.untold
	s.untold = nil
	return why
}

// Abandon rolls the transaction back.
func (s *Session) Abandon() {
	_ = s.RollBack()
	s.Ended()
}

// RollBack rolls back what is not to be committed. A connection on which that fails is given
// up, or the application might commit it.
func (s *Session) RollBack() error {
	_, err := s.Do(context.Background(), RollbackOnly)
	if err != nil && s.Begun() {
		s.Lose(err)
	}
	return err
}

// Cut closes the connection if a context has ended the statement inside a transaction,
// as go-sql-driver does: to end while it waited for others, or for a look-up
// connection, must not leave a transaction that commits without it.
func (s *Session) Cut(ctx context.Context, err error) error {
	if err != nil && errors.Is(err, ctx.Err()) && s.InTransaction() {
		s.Broken = err
		_ = s.Raw.Close()
	}
	return err
}

// InTime is the context's error where that has closed the connection between two statements that
// stand in place of one.
func InTime(ctx context.Context, err error) error {
	if errors.Is(err, driver.ErrBadConn) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// CloseOnPanic closes the connection if an interceptor panics: an application that
// recovers could commit a fold that is done by half, or go on in a transaction of the
// driver's.
func (s *Session) CloseOnPanic() {
	if v := recover(); v != nil {
		_ = s.Raw.Close()
		panic(v)
	}
}

// AsDeadlock rolls the transaction back, as the server does at a deadlock.
func (s *Session) AsDeadlock(why string) (err error) {
	if s.Unbegun == nil {
		err = s.RollBack()
	}
	s.Ended()
	if err != nil {
		return err
	}
	return &mysql.MySQLError{Number: mysqlerr.ErrDeadlock, SQLState: [5]byte([]byte("40001")), Message: "countermysql: " + why + "; try restarting transaction"}
}
