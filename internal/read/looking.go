package read

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// maxLooked is how many rows are read before the first is given out.
const maxLooked = 100

// looks is the look that a query is to be sent as, if it may be answered as outside
// transactions.
func (r *Reader) looks(ctx context.Context, x *Execution, sees sight) lookKind {
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
		if x.State.looks[tableLook].Pays(now) {
			return tableLook
		}
	case x.Temporary:
	case l.Rows.Any != "" && x.State.looks[anyLook].Pays(now):
		return anyLook
	case sees == ifNone:
	case l.Rows.Few != "" && x.asksFew() && r.few(ctx, l.Rows.Slots) && x.State.looks[fewLook].Pays(now):
		return fewLook
	default:
		return x.looksAtEach(now)
	}
	return noLook
}

func (x *Execution) looksAtEach(now time.Duration) lookKind {
	if x.Plan.Sum().Look.Rows.Each != "" && x.State.looks[eachLook].Pays(now) {
		return eachLook
	}
	return noLook
}

// looksAgain is the look that follows one which was no answer.
func (x *Execution) looksAgain(behind lookKind, sees sight) lookKind {
	if behind == anyLook && sees == asOthers {
		return x.looksAtEach(catalog.Clock())
	}
	return noLook
}

// asksFew reports whether it asks for no more rows than are read ahead, as far as it says.
func (x *Execution) asksFew() bool {
	first := x.Plan.Sum().Look.Rows.First
	if first == nil {
		return true
	}
	limit, ok := first.Limit(x.Arguments.Binder)
	return ok && limit <= maxLooked
}

// few reports whether the tables have few slots. Nothing else bounds what it takes to read them all.
func (r *Reader) few(ctx context.Context, of []plan.RowSlots) bool {
	for i := range of {
		slots := &r.Traffic.Of(of[i].Table).Slots
		now := catalog.Clock()
		few, count := slots.Few(now)
		if count {
			rows, err := r.Lookups.QueryAs(ctx, r.Initial.Kin, slotsql.AreFew(of[i].Table))
			if few = err == nil && len(rows) == 1 && rows[0][0] == "1"; few {
				slots.SeeFew(now)
			} else {
				slots.SeeMany(now)
			}
		}
		if !few {
			return false
		}
	}
	return true
}

type lookKind int

const (
	noLook    lookKind = iota
	tableLook          // has a table slots?
	anyLook            // has a row of the answer slots?
	fewLook            // which slots are there?
	eachLook           // what do the slots of each row of the answer come to?
	kinds              // so many
)

// lookFirst sends a query as a look. answered is false if it has to be sent with sums:
// there are slots, or the base rows without them are no answer.
func (r *Reader) lookFirst(ctx context.Context, x *Execution, kind lookKind) (out answer.Outcome, answered bool, err error) {
	l := x.Plan.Sum().Look
	text, hidden, most := l.Text, len(l.Tables), maxLooked+1
	switch kind {
	case anyLook:
		text, hidden = l.Rows.Any, len(l.Rows.Slots)
	case fewLook:
		text, hidden = l.Rows.Few, l.Rows.Hidden
	case eachLook:
		text, hidden = l.Rows.Each, len(l.Rows.Slots)
	default:
		most = 1
	}
	out, err = x.SendLook(ctx, text)
	if err != nil {
		if answered = !plan.Blames(err); !answered {
			x.State.looks[kind].Pause()
		}
		return out, answered, err
	}
	rows := &lookedRows{Physical: out.Rows.(answer.Physical), hidden: hidden}
	err = rows.peek(most)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		answered = !plan.Blames(err)
		rows.ahead = nil // they lack what is in slots
	case kind == tableLook:
		answered = r.told(x, rows)
	default:
		answered = r.added(x, kind, rows)
	}
	if !answered {
		_ = rows.Close() // if it fails, so does what is sent next
		return answer.Outcome{}, false, nil
	}
	if out.Rows = rows; (kind == anyLook || kind == eachLook) && !r.Settings.MariaDB { // MySQL takes a column that an aggregate of another query refers to for one that can be NULL
		plain, w := answer.Over(rows), x.written(r)
		plain.Plain = answer.Plain{Types: w.types, Whole: w.whole}
		out.Rows = plain
	}
	return out, true, nil
}

// told reports whether what the first row of a look tells is that the rows are the answer.
func (r *Reader) told(x *Execution, rows *lookedRows) (answered bool) {
	l := x.Plan.Sum().Look
	if len(rows.ahead) == 0 {
		if !l.Always {
			x.State.looks[tableLook].Pause()
		}
		return l.Always
	}
	answered = true
	for i, t := range l.Tables {
		if rows.has(i) {
			r.Traffic.Of(t).Slots.See()
			answered = false
		}
	}
	return answered
}

// added adds to each row what its slots come to, and reports whether that is the answer; it
// remembers whether it pays to ask.
func (r *Reader) added(x *Execution, kind lookKind, rows *lookedRows) (answered bool) {
	of, pays := &x.Plan.Sum().Look.Rows, &x.State.looks[kind]
	if len(rows.ahead) > maxLooked {
		for _, each := range []lookKind{anyLook, fewLook, eachLook} {
			x.State.looks[each].TooMany()
		}
		return false
	}
	if len(rows.ahead) == 0 {
		return true
	}
	if kind == anyLook {
		answered = !rows.hasAny()
		pays.Told(answered)
		return answered
	}
	slots, ok := rows.slots(kind, of, r.Traffic)
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
	texts  []byte // of the last ones
	err    error  // behind those
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
			free = make([]driver.Value, columns*min(n, max(2, len(a.ahead)))) // a row by its key, and the end
		}
		row := free[:columns:columns]
		free = free[columns:]
		if a.err = a.Physical.Next(row); a.err != nil {
			return a.err
		}
		if n > 1 { // the next overwrites them
			a.keep(row)
		}
		a.ahead = append(a.ahead, row)
	}
	return nil
}

// keep makes the texts of a row its own, but for hidden ones that the first row has, too: all
// slots of a table stand in each.
func (a *lookedRows) keep(row []driver.Value) {
	size := 0
	for i, v := range row {
		if b, ok := v.([]byte); ok && !a.known(i, b) {
			size += len(b)
		}
	}
	if cap(a.texts)-len(a.texts) < size {
		a.texts = make([]byte, 0, size*max(1, len(a.ahead)))
	}
	for i, v := range row {
		b, ok := v.([]byte)
		switch {
		case !ok:
		case a.known(i, b):
			row[i] = a.ahead[0][i]
		default:
			at := len(a.texts)
			a.texts = append(a.texts, b...)
			row[i] = a.texts[at:len(a.texts):len(a.texts)]
		}
	}
}

// known reports whether a hidden column of the first row has a text.
func (a *lookedRows) known(column int, text []byte) bool {
	if len(a.ahead) == 0 || column < len(a.ahead[0])-a.hidden {
		return false
	}
	first, ok := a.ahead[0][column].([]byte)
	return ok && bytes.Equal(first, text)
}

// has reports whether hidden column i of the first row is true.
func (a *lookedRows) has(i int) bool {
	values := a.ahead[0]
	return values[len(values)-a.hidden+i] != int64(0)
}

// hasAny reports whether any hidden column of any row is true.
func (a *lookedRows) hasAny() bool {
	return slices.ContainsFunc(a.ahead, func(row []driver.Value) bool {
		return slices.ContainsFunc(row[len(row)-a.hidden:], func(v driver.Value) bool { return v != int64(0) })
	})
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
