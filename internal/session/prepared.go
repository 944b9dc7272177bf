package session

import (
	"context"
	"database/sql/driver"

	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// A session sends the same few statements again and again, and to parse one takes the
// server about as long as to find its row. Those that have been sent prepareAfter times are
// prepared, and sent with their numbers apart, but for others than the first maxPrepared.
const (
	prepareAfter = 8
	maxPrepared  = 16
)

// preparedTexts are statements that are sent on a connection, by prefix and text.
type preparedTexts struct {
	of  map[[2]string]*preparedText
	off bool // the server, or what is between, prepares no more
}

type preparedText struct {
	sent int         // as text
	stmt driver.Stmt // nil: not yet
}

// makeRoom forgets a text that is not prepared where there are too many; false if all are.
func (known *preparedTexts) makeRoom() bool {
	if len(known.of) < maxPrepared {
		return true
	}
	for of, p := range known.of {
		if p.stmt == nil {
			delete(known.of, of)
			return true
		}
	}
	return false
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
	of := [2]string{prefix, text}
	stmt, err := s.preparedFor(ctx, of)
	if stmt == nil || err != nil {
		return 0, false, err
	}
	res, err := stmt.(driver.StmtExecContext).ExecContext(ctx, numbers)
	switch n := mysqlerr.Number(err); {
	case err == nil:
		affected, err = res.RowsAffected()
		return affected, true, err
	case n == mysqlerr.ErrNoStatement, n == mysqlerr.ErrReprepare: // nothing was done
		_ = stmt.Close() // the server answers nothing to that
		delete(s.prepared.of, of)
		return 0, false, nil
	}
	return 0, true, err
}

// preparedFor is the prepared statement of a text; nil if it is to be sent as a whole.
func (w *Wire) preparedFor(ctx context.Context, of [2]string) (driver.Stmt, error) {
	known := &w.prepared
	p := known.of[of]
	switch {
	case p != nil && p.stmt != nil:
		return p.stmt, nil
	case known.off, p == nil && !known.makeRoom():
		return nil, nil
	case p == nil:
		if known.of == nil {
			known.of = map[[2]string]*preparedText{}
		}
		p = &preparedText{}
		known.of[of] = p
	}
	if p.sent++; p.sent <= prepareAfter {
		return nil, nil
	}
	stmt, err := w.Raw.(driver.ConnPrepareContext).PrepareContext(ctx, of[0]+of[1])
	switch {
	case mysqlerr.Number(err) != 0: // its text tells why, or works
		known.off = true
		return nil, nil
	case err != nil:
		return nil, err
	}
	p.stmt = stmt
	return stmt, nil
}
