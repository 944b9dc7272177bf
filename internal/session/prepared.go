package session

import (
	"context"
	"database/sql/driver"

	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// A session sends the same few statements of ours again and again, and to parse one takes the
// server about as long as to find its row. Those that have been sent prepareAfter times are
// prepared, and sent with their numbers apart, but for others than the first maxPrepared.
const (
	prepareAfter = 8
	maxPrepared  = 16
)

// preparedTexts are statements of ours that are sent on a connection, by text.
type preparedTexts struct {
	of  map[string]*preparedText
	off bool // the server, or what is between, prepares no more
}

type preparedText struct {
	sent int                    // as text
	stmt driver.StmtExecContext // nil: not yet
}

// DoApart is Do for a statement whose numbers are apart, which is sent as whole until it is
// prepared. It is in the session's own character set and reads no @@sql_mode: what that was
// when it was prepared does not matter.
func (s *Session) DoApart(ctx context.Context, text string, numbers []driver.NamedValue, whole func() string) (int64, error) {
	stmt, err := s.preparedFor(ctx, text)
	if err != nil {
		return 0, s.Failed(err)
	}
	if stmt == nil {
		return s.Do(ctx, whole())
	}
	res, err := stmt.ExecContext(ctx, numbers)
	switch n := mysqlerr.Number(err); {
	case err == nil:
		return res.RowsAffected()
	case n == mysqlerr.ErrNoStatement, n == mysqlerr.ErrReprepare: // nothing was done
		delete(s.prepared.of, text)
		return s.Do(ctx, whole())
	}
	return 0, s.Failed(err)
}

// preparedFor is the prepared statement of a text; nil if it is to be sent as a whole.
func (w *Wire) preparedFor(ctx context.Context, text string) (driver.StmtExecContext, error) {
	known := &w.prepared
	p := known.of[text]
	switch {
	case p != nil && p.stmt != nil:
		return p.stmt, nil
	case known.off, p == nil && len(known.of) >= maxPrepared:
		return nil, nil
	case p == nil:
		if known.of == nil {
			known.of = map[string]*preparedText{}
		}
		p = &preparedText{}
		known.of[text] = p
	}
	if p.sent++; p.sent <= prepareAfter {
		return nil, nil
	}
	stmt, err := w.Raw.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	switch {
	case mysqlerr.Number(err) != 0: // its text tells why, or works
		known.off = true
		return nil, nil
	case err != nil:
		return nil, err
	}
	p.stmt = stmt.(driver.StmtExecContext)
	return p.stmt, nil
}
