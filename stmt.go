package countermysql

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// stmt is a prepared statement.
type stmt struct {
	conn   *conn
	text   string
	raw    driver.Stmt // of the text as it is
	others map[string]driver.Stmt
	typing *typing // nil: not asked yet

	floating []driver.NamedValue // the last floating-point arguments, and others beside them; nil: there were none

	kinds []byte // of the arguments so far
	mixed bool   // MySQL was given different ones for one parameter, which stays what it was (WL#9384)

	session session // in which it was prepared
}

var (
	_ driver.Stmt              = (*stmt)(nil)
	_ driver.StmtExecContext   = (*stmt)(nil)
	_ driver.StmtQueryContext  = (*stmt)(nil)
	_ driver.NamedValueChecker = (*stmt)(nil)
	_ driver.ColumnConverter   = (*stmt)(nil) //nolint:staticcheck // go-sql-driver has it too
)

// current reports whether the session reads texts as it did when the statement was
// prepared. The server goes on to take the statement as it was then: its tables are
// of the default database of that time, for one.
func (s *stmt) current() bool {
	now := &s.conn.session
	return s.session.db == now.db && s.session.sqlMode == now.sqlMode
}

func (s *stmt) NumInput() int { return s.raw.NumInput() }

func (s *stmt) Close() error {
	if s.conn.lost() {
		return nil // it ends with the connection
	}
	err := s.raw.Close()
	for _, other := range s.others {
		err = errors.Join(err, other.Close())
	}
	if s.typing != nil {
		err = errors.Join(err, s.typing.stmt.Close())
	}
	return err
}

// maxOthers bounds the texts prepared beside the statement's own.
const maxOthers = 4

// physical returns a prepared statement for a text that is sent in place of the statement's.
func (s *stmt) physical(ctx context.Context, text string) (driver.Stmt, error) {
	if text == s.text {
		return s.raw, nil
	}
	if other := s.others[text]; other != nil {
		return other, nil
	}
	other, err := s.conn.raw.(driver.ConnPrepareContext).PrepareContext(ctx, text)
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
	s.warm(ctx, other)
	return other, nil
}

// sees notes floating-point arguments: MySQL's parameter stays one for integers too
// (WL#9384), and what is added to the base row alone is then rounded to other numbers.
func (s *stmt) sees(args []driver.NamedValue) {
	if len(s.kinds) != len(args) {
		s.kinds = make([]byte, len(args))
	}
	for i, v := range args {
		kind := kindOfArgument(v.Value)
		s.mixed = s.mixed || kind != 0 && s.kinds[i] != 0 && s.kinds[i] != kind
		if kind != 0 {
			s.kinds[i] = kind
		}
		if kind != 'f' {
			continue
		}
		if s.floating == nil {
			s.floating = slices.Clone(args)
			for i, v := range s.floating { // the application may write to its bytes again
				switch b := v.Value.(type) {
				case []byte:
					s.floating[i].Value = slices.Clone(b)
				case json.RawMessage:
					s.floating[i].Value = slices.Clone(b)
				}
			}
		}
		if i < len(s.floating) {
			s.floating[i] = v
		}
	}
}

// kindOfArgument is an argument's type, as the server is told of it; 0: NULL has none.
func kindOfArgument(v driver.Value) byte {
	switch v.(type) {
	case nil:
		return 0
	case int64, bool:
		return 'i'
	case uint64:
		return 'u'
	case float64:
		return 'f'
	case time.Time:
		return 't'
	}
	return 's'
}

// warm gives a query that is sent in the statement's place the floating-point arguments
// that the statement has had, if that does nothing else.
func (s *stmt) warm(ctx context.Context, other driver.Stmt) {
	now := s.conn.connector.current.Load()
	if s.floating == nil || now == nil || now.server.mariaDB {
		return
	}
	toks := tokenize(s.text, s.session.mode)
	if !toks[0].is("SELECT") || calls(toks) || hasWord(toks, "FOR", "LOCK", "INTO") || slices.ContainsFunc(toks, func(t token) bool { return t.punct(':') }) {
		return
	}
	rows, err := other.(driver.StmtQueryContext).QueryContext(ctx, s.floating)
	if err == nil {
		err = rows.Close()
	}
	s.conn.overlook(err) // the query itself will tell
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	out, err := s.execute(ctx, args, false)
	return out.res, err
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	out, err := s.execute(ctx, args, true)
	return out.rows, err
}

func (s *stmt) execute(ctx context.Context, args []driver.NamedValue, rows bool) (outcome, error) {
	if s.conn.lost() {
		return outcome{}, driver.ErrBadConn
	}
	none := s.floating == nil
	s.sees(args)
	out, err := s.conn.execute(ctx, s.text, s, args, rows)
	if none && errorNumber(err) == errWrongArguments { // a parameter of LIMIT takes none
		s.floating = nil
	}
	return out, err
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
	if c, ok := s.raw.(driver.ColumnConverter); ok { //nolint:staticcheck // see above
		return c.ColumnConverter(i)
	}
	return driver.DefaultParameterConverter
}
