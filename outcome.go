package countermysql

import (
	"database/sql/driver"
	"errors"
	"io"

	"github.com/countermysql/countermysql/internal/answer"
)

// outcome is what a statement gives back: a result or rows.
type outcome struct {
	res  driver.Result
	rows driver.Rows
}

// close closes rows of a statement that has none: nothing else can be sent while they
// are open.
func (o *outcome) close() (err error) {
	if o.rows != nil {
		err = o.rows.Close()
		o.rows = answer.NoRows{}
	}
	return err
}

func (o outcome) affected() int64 {
	if o.res == nil {
		return -1 // not known: rows
	}
	n, err := o.res.RowsAffected()
	if err != nil {
		return -1
	}
	return n
}

// watchedRows are rows of a transaction. An error in their midst may have ended it.
type watchedRows struct {
	answer.Physical
	conn   *conn
	failed error
}

func (c *conn) watched(rows driver.Rows) driver.Rows {
	if r, ok := rows.(answer.Physical); ok && c.Begun() {
		return &watchedRows{Physical: r, conn: c}
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
		_ = r.conn.Failed(r.failed)
		r.failed = nil
	}
	return err
}
