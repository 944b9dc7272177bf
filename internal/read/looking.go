package read

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
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
	case x.Temporary:
	case l.Rows.Few != "" && !slices.ContainsFunc(l.Tables, func(t *catalog.Table) bool { return r.Traffic.Of(t).Slots.Many(now) }) && x.State.fewLook.Pays(now):
		return fewLook
	case l.Rows.Each != "" && x.State.eachLook.Pays(now):
		return eachLook
	}
	return noLook
}

type lookKind int

const (
	noLook    lookKind = iota
	tableLook          // has a table slots?
	fewLook            // which slots are there?
	eachLook           // what do the slots of each row of the answer come to?
)

// lookFirst sends a query as a look. answered is false if it has to be sent with sums:
// there are slots, or the base rows without them are no answer.
func (r *Reader) lookFirst(ctx context.Context, x *Execution, kind lookKind) (out answer.Outcome, answered bool, err error) {
	l := x.Plan.Sum().Look
	text, hidden, most := l.Text, len(l.Tables), maxLooked+1
	switch kind {
	case fewLook:
		text, hidden = l.Rows.Few, l.Rows.Hidden()
	case eachLook:
		text, hidden = l.Rows.Each, len(l.Rows.Slots)
	default:
		most = 1
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
	case kind == tableLook:
		answered = r.told(x, rows)
	default:
		answered = r.added(x, kind, rows)
	}
	if !answered {
		_ = rows.Close() // if it fails, so does what is sent next
		return answer.Outcome{}, false, nil
	}
	if out.Rows = rows; kind == eachLook && !r.Settings.MariaDB { // MySQL takes a column that an aggregate of another query refers to for one that can be NULL
		plain := answer.Over(rows)
		plain.Plain = answer.Plain{Types: x.written(r).types}
		out.Rows = plain
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

// added adds to each row what its slots come to, and reports whether that is the answer; it
// remembers whether it pays to ask.
func (r *Reader) added(x *Execution, kind lookKind, rows *lookedRows) (answered bool) {
	pays, of := &x.State.eachLook, &x.Plan.Sum().Look.Rows
	if kind == fewLook {
		pays = &x.State.fewLook
	}
	if len(rows.ahead) > maxLooked {
		x.State.fewLook.TooMany()
		x.State.eachLook.TooMany()
		return false
	}
	if len(rows.ahead) == 0 {
		return true
	}
	slots, many, ok := rows.slots(kind, of)
	if many {
		for _, t := range x.Plan.Sum().Look.Tables {
			r.Traffic.Of(t).Slots.SeeMany()
		}
	}
	if !ok {
		pays.Told(false)
		return false
	}
	answered = rows.add(of, slots)
	if f := of.First; f != nil && answered {
		limit, ok := f.Limit(x.Arguments.Binder)
		answered = ok && rows.sort(f, slots[f.Slots], int(limit))
	}
	pays.Told(answered)
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
	var free []driver.Value
	for len(a.ahead) < n {
		if len(free) == 0 {
			free = make([]driver.Value, columns*min(n, 8))
		}
		row := free[:columns:columns]
		free = free[columns:]
		if a.err = a.Physical.Next(row); a.err != nil {
			return a.err
		}
		if n > 1 { // the next overwrites them
			cloned(row)
		}
		a.ahead = append(a.ahead, row)
	}
	return nil
}

// cloned makes the texts of a row its own.
func cloned(row []driver.Value) {
	size := 0
	for _, v := range row {
		if b, ok := v.([]byte); ok {
			size += len(b)
		}
	}
	all := make([]byte, 0, size)
	for i, v := range row {
		if b, ok := v.([]byte); ok {
			at := len(all)
			all = append(all, b...)
			row[i] = all[at:len(all):len(all)]
		}
	}
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
