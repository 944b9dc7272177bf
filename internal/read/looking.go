package read

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
func (r *Reader) looks(x *Execution) lookKind {
	q := x.Plan.Sum()
	if q.Look == nil || !x.Rows || r.Next != "" && !r.InTransaction() {
		return noLook
	}
	if level := r.Level(); level != sqltext.RepeatableRead && level != "READ COMMITTED" {
		return noLook
	}
	l, now := q.Look, catalog.Clock()
	switch {
	case !slices.ContainsFunc(l.Tables, func(t *catalog.Table) bool { return r.Traffic.Of(t).Slots.Seen(now) }):
		if x.State.tableLook.Pays(now) {
			return tableLook
		}
	case l.Rows.Text != "" && x.State.rowLook.Pays(now):
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
func (r *Reader) lookFirst(ctx context.Context, x *Execution, kind lookKind) (out answer.Outcome, answered bool, err error) {
	l := x.Plan.Sum().Look
	text, hidden, most := l.Text, len(l.Tables), 1
	if kind == eachRowLook {
		text, hidden, most = l.Rows.Text, l.Rows.Hidden, maxLooked+1
	}
	out, err = x.SendLook(ctx, x.Own(text))
	if err != nil {
		return out, !l.Blames(err), err
	}
	rows := &lookedRows{Physical: out.Rows.(answer.Physical), hidden: hidden}
	err = rows.peek(most)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		answered = !l.Blames(err)
	case kind == eachRowLook:
		answered = eachRow(&x.State.rowLook, rows)
	default:
		answered = r.told(x, rows)
	}
	out.Rows = rows
	if !answered {
		_ = rows.Close() // if it fails, so does what is sent next
		return answer.Outcome{}, false, nil
	}
	return out, true, nil
}

// told reports whether what the first row of a look tells is that the rows are the answer.
func (r *Reader) told(x *Execution, rows *lookedRows) (answered bool) {
	l := x.Plan.Sum().Look
	if len(rows.ahead) == 0 {
		if !l.Always {
			x.State.tableLook.Pause()
		}
		return l.Always
	}
	answered = true
	for i, t := range l.Tables {
		if rows.has(0, i) {
			r.Traffic.Of(t).Slots.See()
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
func (a *lookedRows) peek(n int) error {
	columns := len(a.Physical.Columns())
	for len(a.ahead) < n {
		row := make([]driver.Value, columns)
		if a.err = a.Physical.Next(row); a.err != nil {
			return a.err
		}
		if n > 1 { // the next overwrites them
			for i, v := range row {
				if b, ok := v.([]byte); ok {
					row[i] = bytes.Clone(b)
				}
			}
		}
		a.ahead = append(a.ahead, row)
	}
	return nil
}

// has reports whether hidden column i of a row is true.
func (a *lookedRows) has(row, i int) bool {
	values := a.ahead[row]
	return values[len(values)-a.hidden+i] != int64(0)
}

func (a *lookedRows) Next(dest []driver.Value) error {
	if a.next < len(a.ahead) {
		copy(dest, a.ahead[a.next])
		a.next++
		return nil
	}
	if err := a.err; err != nil {
		a.err = nil
		return err
	}
	if a.row == nil {
		a.row = make([]driver.Value, len(a.Physical.Columns()))
	}
	err := a.Physical.Next(a.row)
	copy(dest, a.row)
	return err
}

func (a *lookedRows) Columns() []string {
	names := a.Physical.Columns()
	return names[:len(names)-a.hidden]
}
