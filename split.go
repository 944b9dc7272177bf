package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// runSplit executes a text of several statements one by one, as the server
// would: what went before an error stays done.
func (c *conn) runSplit(ctx context.Context, k *call, texts []string) (answer.Outcome, error) {
	if k.rows {
		rows := &splitRows{conn: c, ctx: ctx, texts: texts, args: k.args}
		return answer.Outcome{Rows: rows}, rows.first()
	}
	all := &answer.Result{}
	args := k.args
	for i, text := range texts {
		var own []driver.NamedValue
		own, args = sqltext.SplitArgs(text, c.Settings.Mode, args)
		res, err := c.ExecContext(ctx, text, own)
		if err != nil {
			return answer.Outcome{}, notAgain(err, i > 0)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return answer.Outcome{}, err
		}
		id, _ := res.LastInsertId()
		all.And(n, id)
	}
	return answer.Outcome{Result: all}, nil
}

// notAgain keeps database/sql from sending the whole text once more on another
// connection where a part of it is done.
func notAgain(err error, begun bool) error {
	if begun && errors.Is(err, driver.ErrBadConn) {
		return mysql.ErrInvalidConn
	}
	return err
}

// splitRows are the result sets of several statements, each run when it is
// asked for. Like go-sql-driver's they skip statements without rows.
type splitRows struct {
	answer.Physical
	conn  *conn
	ctx   context.Context
	texts []string
	args  []driver.NamedValue
	begun bool // a statement was run
}

// Close runs the statements that nobody asked for, as the server would have, and tells the error
// of the one at which it has stopped.
func (r *splitRows) Close() error {
	var err error
	for err == nil {
		err = r.NextResultSet()
	}
	closed := r.Physical.Close()
	if errors.Is(err, io.EOF) {
		return closed
	}
	return err
}

func (r *splitRows) first() error {
	err := r.NextResultSet()
	if errors.Is(err, io.EOF) {
		r.Physical = answer.NoRows{}
		return nil
	}
	return err
}

func (r *splitRows) HasNextResultSet() bool {
	return len(r.texts) > 0 || r.Physical.HasNextResultSet()
}

func (r *splitRows) Next(dest []driver.Value) error {
	err := r.Physical.Next(dest)
	if err != nil && !errors.Is(err, io.EOF) {
		r.texts = nil
	}
	return err
}

// NextResultSet runs statements up to the next that has rows. Like the server it
// stops for good at the first error.
func (r *splitRows) NextResultSet() error {
	err := r.next()
	if err != nil {
		r.texts = nil
	}
	return err
}

func (r *splitRows) next() error {
	if r.Physical != nil {
		if r.Physical.HasNextResultSet() {
			if err := r.Physical.NextResultSet(); !errors.Is(err, io.EOF) { // it is behind the last of a CALL
				return err
			}
		}
		if err := r.Physical.Close(); err != nil {
			return err
		}
	}
	for len(r.texts) > 0 {
		text := r.texts[0]
		r.texts = r.texts[1:]
		var own []driver.NamedValue
		own, r.args = sqltext.SplitArgs(text, r.conn.Settings.Mode, r.args)
		rows, err := r.conn.QueryContext(r.ctx, text, own)
		if err != nil {
			return notAgain(err, r.begun)
		}
		r.begun = true
		if p, ok := rows.(answer.Physical); ok && len(rows.Columns()) > 0 {
			r.Physical = p
			return nil
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	r.Physical = answer.NoRows{}
	return io.EOF
}
