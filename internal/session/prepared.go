package session

import (
	"context"
	"database/sql/driver"
	"math"

	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// A session sends the same few statements again and again, and to parse one takes the
// server about as long as to find its row. Those that have been sent prepareAfter times are
// prepared, and sent with their arguments apart: maxPrepared at a time, of which the one that
// was not sent for longest makes room, if others were sent idleAfter times since.
const (
	prepareAfter = 8
	maxPrepared  = 16
	maxTexts     = 64
	idleAfter    = 256

	maxPreparedText = 4 << 10 // bytes
)

// prepared tells texts apart that are prepared by themselves.
type prepared struct {
	prefix, text string
	kinds        string // of the arguments: MySQL computes by those that a statement has had before
}

// preparedTexts are texts that are sent on a connection.
type preparedTexts struct {
	of    map[prepared]*preparedText
	sent  uint64 // of any text
	stmts int
	off   bool // the server has no room for more
}

type preparedText struct {
	sent    int         // as text
	last    uint64      // when it was sent last, as preparedTexts counts
	stmt    driver.Stmt // nil: not yet
	refused bool        // it goes as text
}

// find is what is known of a text, which may forget another.
func (known *preparedTexts) find(of prepared) *preparedText {
	p := known.of[of]
	if p == nil {
		if known.of == nil {
			known.of = map[prepared]*preparedText{}
		}
		if len(known.of) >= maxTexts {
			for of, p := range known.of {
				if p.stmt == nil {
					delete(known.of, of)
					break
				}
			}
		}
		p = &preparedText{}
		known.of[of] = p
	}
	known.sent++
	p.last = known.sent
	return p
}

// makeRoom reports whether there is room for one more statement.
func (known *preparedTexts) makeRoom() bool {
	if known.stmts < maxPrepared {
		return true
	}
	var idle prepared
	last := uint64(math.MaxUint64)
	for of, p := range known.of {
		if p.stmt != nil && p.last < last {
			idle, last = of, p.last
		}
	}
	if known.sent-last < idleAfter {
		return false
	}
	known.forget(idle)
	return true
}

// forget closes a statement, to which the server answers nothing.
func (known *preparedTexts) forget(of prepared) {
	_ = known.of[of].stmt.Close()
	delete(known.of, of)
	known.stmts--
}

// DoApart is Do for a statement whose numbers are apart, which is sent as whole until it is
// prepared. It is in the session's own character set and reads no @@sql_mode, or no statement has
// changed that: what it was when it was prepared does not matter.
func (s *Session) DoApart(ctx context.Context, prefix, text string, numbers []driver.NamedValue, whole func() string) (int64, error) {
	affected, sent, err := s.DoPrepared(ctx, prefix, text, numbers)
	if !sent && err == nil {
		return s.Do(ctx, whole())
	}
	return affected, s.Failed(err)
}

// DoPrepared is DoApart for a statement that is prepared; sent is false where it is not, and nothing
// was done. Its error is for the caller to note ([Session.Failed]).
func (s *Session) DoPrepared(ctx context.Context, prefix, text string, numbers []driver.NamedValue) (affected int64, sent bool, err error) {
	sent, err = s.sendPrepared(ctx, prepared{prefix: prefix, text: text}, func(stmt driver.Stmt) error {
		res, err := stmt.(driver.StmtExecContext).ExecContext(ctx, numbers)
		if err == nil {
			affected, err = res.RowsAffected()
		}
		return err
	})
	return affected, sent, err
}

// QueryPrepared is a query sent by a prepared statement; sent is false where it has to be sent as
// text, which it is until it is prepared, and where its rows can't be given out as those of the text; as
// makes them so, nil: they are. The arguments are integers and strings, the session is as it was opened,
// and the error is for the caller to note.
func (s *Session) QueryPrepared(ctx context.Context, text string, args []driver.NamedValue, as func(driver.Rows) (driver.Rows, bool)) (rows driver.Rows, sent bool, err error) {
	if len(text) > maxPreparedText {
		return nil, false, nil
	}
	of, fits := prepared{text: text, kinds: kindsOf(args)}, true
	sent, err = s.sendPrepared(ctx, of, func(stmt driver.Stmt) error {
		raw, err := stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		if err != nil {
			return err
		}
		if rows = raw; as != nil {
			rows, fits = as(raw)
		}
		if fits {
			return nil
		}
		err = raw.Close() // before the statement
		s.prepared.forget(of)
		s.prepared.find(of).refused = true
		return err
	})
	return rows, sent && fits, err
}

// kindsOf has a letter for the type of each argument.
func kindsOf(args []driver.NamedValue) string {
	kinds := make([]byte, len(args))
	for i, arg := range args {
		switch arg.Value.(type) {
		case int64:
			kinds[i] = 'i'
		case uint64:
			kinds[i] = 'u'
		default:
			kinds[i] = 's'
		}
	}
	return string(kinds)
}

// ReadApart is Read of a query whose numbers are apart, which is sent as whole until it is
// prepared.
func (s *Session) ReadApart(ctx context.Context, text string, numbers []driver.NamedValue, whole func() string) ([][]string, error) {
	if !s.AsOpened() || s.Settings.SelectLimit != "" || s.Settings.Timed {
		return s.Read(ctx, whole())
	}
	rows, sent, err := s.QueryPrepared(ctx, text, numbers, nil)
	switch {
	case err != nil:
		return nil, s.Failed(err)
	case !sent:
		return s.Read(ctx, whole())
	}
	return s.drained(rows)
}

// sendPrepared sends a text by its statement, if it has one or is to have one; else, and where the
// server does not know the statement any more, sent is false, and nothing was done.
func (w *Wire) sendPrepared(ctx context.Context, of prepared, send func(driver.Stmt) error) (sent bool, err error) {
	stmt, err := w.preparedFor(ctx, of)
	if stmt == nil || err != nil {
		return false, err
	}
	err = send(stmt)
	if n := mysqlerr.Number(err); n == mysqlerr.ErrNoStatement || n == mysqlerr.ErrReprepare { // nothing was done
		w.prepared.forget(of)
		return false, nil
	}
	return true, err
}

// preparedFor is the prepared statement of a text; nil if it is to be sent as text.
func (w *Wire) preparedFor(ctx context.Context, of prepared) (driver.Stmt, error) {
	known := &w.prepared
	p := known.find(of)
	if p.stmt != nil {
		return p.stmt, nil
	}
	if p.sent++; p.refused || known.off || p.sent <= prepareAfter || p.sent%prepareAfter != 1 || !known.makeRoom() {
		return nil, nil
	}
	stmt, err := w.Raw.(driver.ConnPrepareContext).PrepareContext(ctx, of.prefix+of.text)
	if n := mysqlerr.Number(err); mysqlerr.Unprepared[n] { // the text works
		known.off, p.refused = n == mysqlerr.ErrManyStatements, true
		return nil, nil
	}
	if err != nil { // which may have ended the transaction
		return nil, err
	}
	p.stmt = stmt
	known.stmts++
	return stmt, nil
}
