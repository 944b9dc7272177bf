package countermysql

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
)

// maxLooked is how many rows are read before the first is given out.
const maxLooked = 100

// looks is the look that a query is to be sent as, if it may be answered as outside
// transactions.
func (c *conn) looks(k *call) lookKind {
	q := k.Plan.Sum()
	if q == nil || q.Look == nil || !k.rows || c.Next != "" && !c.InTransaction() {
		return noLook
	}
	if level := c.Level(); level != sqltext.RepeatableRead && level != "READ COMMITTED" {
		return noLook
	}
	l, now := q.Look, catalog.Clock()
	switch {
	case !slices.ContainsFunc(l.Tables, func(t *catalog.Table) bool { return c.Traffic.Of(t).Slots.Seen(now) }):
		if k.state.tableLook.Pays(now) {
			return tableLook
		}
	case l.Rows.Text != "" && k.state.rowLook.Pays(now):
		return eachRowLook
	}
	return noLook
}

type lookKind int

const (
	noLook      lookKind = iota
	tableLook            // has a table slots?
	eachRowLook          // has some row of the answer slots?
)

// lookFirst sends a query as a look. answered is false if it has to be sent with sums:
// there are slots, or the base rows without them are no answer.
func (c *conn) lookFirst(ctx context.Context, k *call, kind lookKind) (out answer.Outcome, answered bool, err error) {
	l := k.Plan.Sum().Look
	text, hidden, most := l.Text, len(l.Tables), 1
	if kind == eachRowLook {
		text, hidden, most = l.Rows.Text, l.Rows.Hidden, maxLooked+1
	}
	k.looking = true
	out, err = k.sendWith(ctx, k.Own(text), k.args)
	k.looking = false
	if err != nil {
		return out, !l.Blames(err), err
	}
	rows := &lookedRows{Physical: out.Rows.(answer.Physical), hidden: hidden}
	err = rows.peek(most)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		answered = !l.Blames(err)
	case kind == eachRowLook:
		answered = eachRow(&k.state.rowLook, rows)
	default:
		answered = c.told(k, rows)
	}
	out.Rows = rows
	if !answered {
		_ = rows.Close() // if it fails, so does what is sent next
		return answer.Outcome{}, false, nil
	}
	return out, true, nil
}

// told reports whether what the first row of a look tells is that the rows are the answer.
func (c *conn) told(k *call, rows *lookedRows) (answered bool) {
	l := k.Plan.Sum().Look
	if len(rows.ahead) == 0 {
		if !l.Always {
			k.state.tableLook.Pause()
		}
		return l.Always
	}
	answered = true
	for i, t := range l.Tables {
		if rows.has(0, i) {
			c.Traffic.Of(t).Slots.See()
			answered = false
		}
	}
	return answered
}

// eachRow reports whether no row of a look has slots, and remembers whether it pays to ask.
func eachRow(l *traffic.Look, rows *lookedRows) (answered bool) {
	if len(rows.ahead) > maxLooked {
		l.TooMany()
		return false
	}
	answered = true
	for row := range rows.ahead {
		for i := range rows.hidden {
			answered = answered && !rows.has(row, i)
		}
	}
	l.Told(answered)
	return answered
}

// lookedRows are the rows of a look, without its hidden columns. The first ones are read
// beforehand.
type lookedRows struct {
	answer.Physical
	hidden int
	ahead  [][]driver.Value
	err    error // behind those
	row    []driver.Value
	next   int
}

var _ answer.Physical = (*lookedRows)(nil)

// peek reads so many rows; the error is what comes in place of the next.
func (r *lookedRows) peek(n int) error {
	columns := len(r.Physical.Columns())
	for len(r.ahead) < n {
		row := make([]driver.Value, columns)
		if r.err = r.Physical.Next(row); r.err != nil {
			return r.err
		}
		if n > 1 { // the next overwrites them
			for i, v := range row {
				if b, ok := v.([]byte); ok {
					row[i] = bytes.Clone(b)
				}
			}
		}
		r.ahead = append(r.ahead, row)
	}
	return nil
}

// has reports whether hidden column i of a row is true.
func (r *lookedRows) has(row, i int) bool {
	values := r.ahead[row]
	return values[len(values)-r.hidden+i] != int64(0)
}

func (r *lookedRows) Next(dest []driver.Value) error {
	if r.next < len(r.ahead) {
		copy(dest, r.ahead[r.next])
		r.next++
		return nil
	}
	if err := r.err; err != nil {
		r.err = nil
		return err
	}
	if r.row == nil {
		r.row = make([]driver.Value, len(r.Physical.Columns()))
	}
	err := r.Physical.Next(r.row)
	copy(dest, r.row)
	return err
}

func (r *lookedRows) Columns() []string {
	names := r.Physical.Columns()
	return names[:len(names)-r.hidden]
}
