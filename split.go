package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// bodies are the words of statements that hold others.
var bodies = wordSet(`PROCEDURE FUNCTION TRIGGER EVENT PACKAGE ATOMIC`)

// statements splits a text at its semicolons. One that defines a body is not split.
func statements(text string, toks []token) []string {
	creates := hasWord(toks, "CREATE", "ATOMIC")
	if creates && slices.ContainsFunc(toks, func(t token) bool { return t.in(bodies) }) {
		return []string{text}
	}
	var parts []string
	start := 0
	for i, t := range toks {
		if t.punct(';') {
			switch {
			case i > 0 && !toks[i-1].punct(';'):
				parts = append(parts, text[start:t.start])
			case slices.ContainsFunc(toks[i:], func(t token) bool { return !t.punct(';') }):
				return append(parts, text[start:]) // an empty one, which is wrong unless it is the last
			}
			start = t.end
		}
	}
	if n := len(toks); n > 0 && !toks[n-1].punct(';') {
		parts = append(parts, text[start:])
	}
	return parts
}

// apart returns the statements of a text that names no counter table, if they have
// to be sent one by one, as one of them changes the session or its transaction.
func apart(text string, toks []token, mode lexMode) []string {
	parts := statements(text, toks)
	if len(parts) < 2 || !slices.ContainsFunc(parts, func(part string) bool {
		kind, _ := kindOf(tokenize(part, mode))
		return kind != kindOther
	}) {
		return nil
	}
	return parts
}

// runSplit executes a text of several statements one by one, as the server
// would: what went before an error stays done.
func (c *conn) runSplit(ctx context.Context, k *call) (outcome, error) {
	if k.rows {
		rows := &splitRows{conn: c, ctx: ctx, texts: k.plan.split, args: k.args}
		return outcome{rows: rows}, rows.first()
	}
	all := &result{}
	args := k.args
	for _, text := range k.plan.split {
		var own []driver.NamedValue
		own, args = splitArgs(text, c.session.mode, args)
		res, err := c.ExecContext(ctx, text, own)
		if err != nil {
			return outcome{}, notAgain(err, len(all.affected) > 0)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return outcome{}, err
		}
		id, _ := res.LastInsertId()
		all.affected, all.ids = append(all.affected, n), append(all.ids, id)
	}
	return outcome{res: all}, nil
}

// notAgain keeps database/sql from sending the whole text once more on another
// connection where a part of it is done.
func notAgain(err error, begun bool) error {
	if begun && errors.Is(err, driver.ErrBadConn) {
		return mysql.ErrInvalidConn
	}
	return err
}

func splitArgs(text string, mode lexMode, args []driver.NamedValue) (own, rest []driver.NamedValue) {
	n := min(parameters(tokenize(text, mode)), len(args))
	return args[:n], args[n:]
}

// parameters is the number of ? among the tokens.
func parameters(toks []token) int {
	n := 0
	for _, t := range toks {
		if t.kind == tokParam {
			n++
		}
	}
	return n
}

// splitRows are the result sets of several statements, each run when it is
// asked for. Like go-sql-driver's they skip statements without rows.
type splitRows struct {
	physicalRows
	conn  *conn
	ctx   context.Context
	texts []string
	args  []driver.NamedValue
	begun bool // a statement was run
}

// Close runs the statements that nobody asked for, as the server would have.
func (r *splitRows) Close() error {
	for {
		if err := r.NextResultSet(); err != nil {
			break // io.EOF, or an error that nobody waits for
		}
	}
	return r.physicalRows.Close()
}

func (r *splitRows) first() error {
	err := r.NextResultSet()
	if errors.Is(err, io.EOF) {
		r.physicalRows = noRows{}
		return nil
	}
	return err
}

func (r *splitRows) HasNextResultSet() bool {
	return len(r.texts) > 0 || r.physicalRows.HasNextResultSet()
}

func (r *splitRows) Next(dest []driver.Value) error {
	err := r.physicalRows.Next(dest)
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
	if r.physicalRows != nil {
		if r.physicalRows.HasNextResultSet() {
			return r.physicalRows.NextResultSet()
		}
		if err := r.physicalRows.Close(); err != nil {
			return err
		}
	}
	for len(r.texts) > 0 {
		text := r.texts[0]
		r.texts = r.texts[1:]
		var own []driver.NamedValue
		own, r.args = splitArgs(text, r.conn.session.mode, r.args)
		rows, err := r.conn.QueryContext(r.ctx, text, own)
		if err != nil {
			return notAgain(err, r.begun)
		}
		r.begun = true
		if p, ok := rows.(physicalRows); ok && len(rows.Columns()) > 0 {
			r.physicalRows = p
			return nil
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	r.physicalRows = noRows{}
	return io.EOF
}
