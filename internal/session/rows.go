package session

import (
	"database/sql/driver"
	"errors"
	"io"

	"github.com/countermysql/countermysql/internal/answer"
)

// watchedRows are rows of a transaction. An error in their midst may have ended it.
type watchedRows struct {
	answer.Physical
	session *Session
	failed  error
}

// Watched are rows of the application's.
func (s *Session) Watched(rows driver.Rows) driver.Rows {
	if r, ok := rows.(answer.Physical); ok && s.Begun() {
		return &watchedRows{Physical: r, session: s}
	}
	return rows
}

func (r *watchedRows) Next(dest []driver.Value) error {
	err := r.Physical.Next(dest)
	r.note(err)
	return err
}

func (r *watchedRows) NextResultSet() error {
	err := r.Physical.NextResultSet()
	r.note(err)
	return err
}

func (r *watchedRows) note(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
}

// Close looks at an error: nothing can be asked of the server before.
func (r *watchedRows) Close() error {
	err := r.Physical.Close()
	r.note(err)
	if r.failed != nil {
		_ = r.session.Failed(r.failed)
		r.failed = nil
	}
	return err
}
