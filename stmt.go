package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/session"
)

// stmt is a prepared statement.
type stmt struct {
	conn   *conn
	text   string
	raw    driver.Stmt // of the text as it is
	others map[string]driver.Stmt

	settings session.Settings // in which it was prepared
	floats   bool             // it has had a floating-point argument
}

var (
	_ driver.Stmt              = (*stmt)(nil)
	_ driver.StmtExecContext   = (*stmt)(nil)
	_ driver.StmtQueryContext  = (*stmt)(nil)
	_ driver.NamedValueChecker = (*stmt)(nil)
	_ columnConverter          = (*stmt)(nil)
)

// current reports whether the session reads texts as it did when the statement was
// prepared. The server goes on to take the statement as it was then: its tables are
// of the default database of that time, for one.
func (s *stmt) current() bool {
	now := &s.conn.Settings
	return s.settings.DB == now.DB && s.settings.SQLMode == now.SQLMode
}

// sticks reports whether a parameter has become one of floating-point numbers for good (see [call.once]), by these
// arguments or earlier ones: to another text it has not.
func (s *stmt) sticks(args []driver.NamedValue) bool {
	s.floats = s.floats || slices.ContainsFunc(args, isFloat)
	return s.floats
}

func (s *stmt) NumInput() int { return s.raw.NumInput() }

func (s *stmt) Close() error {
	if s.conn.Lost() {
		return nil // it ends with the connection
	}
	err := s.raw.Close()
	for _, other := range s.others {
		err = errors.Join(err, other.Close())
	}
	return err
}

// maxOthers bounds the texts prepared beside the statement's own.
const maxOthers = 6 // looks of three kinds, sums, and what a transaction reads

// physical returns a prepared statement for a text that is sent in place of the statement's.
func (s *stmt) physical(ctx context.Context, text string) (driver.Stmt, error) {
	if text == s.text {
		return s.raw, nil
	}
	if other := s.others[text]; other != nil {
		return other, nil
	}
	other, err := s.conn.Raw.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if len(s.others) == maxOthers {
		for text, old := range s.others {
			old.Close()
			delete(s.others, text)
		}
	}
	if s.others == nil {
		s.others = map[string]driver.Stmt{}
	}
	s.others[text] = other
	return other, nil
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	out, err := s.execute(ctx, args, false)
	return out.Result, err
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	out, err := s.execute(ctx, args, true)
	return out.Rows, err
}

func (s *stmt) execute(ctx context.Context, args []driver.NamedValue, rows bool) (answer.Outcome, error) {
	if s.conn.Lost() {
		return answer.Outcome{}, driver.ErrBadConn
	}
	out, err := s.conn.execute(ctx, s.text, s, args, rows)
	return out, session.InTime(ctx, err)
}

// Exec is for callers of Raw.
func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}

// Query is for callers of Raw.
func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	return s.raw.(driver.NamedValueChecker).CheckNamedValue(v)
}

func (s *stmt) ColumnConverter(i int) driver.ValueConverter {
	if c, ok := s.raw.(columnConverter); ok {
		return c.ColumnConverter(i)
	}
	return driver.DefaultParameterConverter
}
