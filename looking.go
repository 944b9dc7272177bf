package countermysql

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

const (
	lookAgain   = time.Second // a query is sent with sums at once for so long after a look that was thrown away
	maxLooked   = 100         // rows that are read before the first is given out
	mostCredit  = 8
	vainCosts   = 2
	longLooking = 60 * lookAgain // is not tried again after more rows
)

// looks is the look that a query is to be sent as, if it may be answered as outside
// transactions.
func (c *conn) looks(k *call) lookKind {
	p := k.Plan
	if p.Query == nil || p.Query.Look == nil || !k.rows || c.next != "" && !c.inTransaction() {
		return noLook
	}
	if level := c.level(); level != sqltext.RepeatableRead && level != "READ COMMITTED" {
		return noLook
	}
	l, now := p.Query.Look, int64(catalog.Clock())
	switch {
	case !slices.ContainsFunc(l.Tables, func(t *catalog.Table) bool { return now < c.connector.trafficOf(t).slotted.Load() }):
		if k.state.tableLook.pays(now) {
			return tableLook
		}
	case l.Rows.Text != "" && k.state.rowLook.pays(now):
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
func (c *conn) lookFirst(ctx context.Context, k *call, kind lookKind) (out outcome, answered bool, err error) {
	l := k.Query.Look
	text, hidden, most := l.Text, len(l.Tables), 1
	if kind == eachRowLook {
		text, hidden, most = l.Rows.Text, l.Rows.Hidden, maxLooked+1
	}
	k.looking = true
	out, err = k.forwardWith(ctx, k.own(text), k.args)
	k.looking = false
	if err != nil {
		return out, !l.Blames(err), err
	}
	rows := &lookedRows{Physical: out.rows.(answer.Physical), hidden: hidden}
	err = rows.peek(most)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		answered = !l.Blames(err)
	case kind == eachRowLook:
		answered = k.state.rowLook.told(rows)
	default:
		answered = c.told(k, rows)
	}
	out.rows = rows
	if !answered {
		_ = rows.Close() // if it fails, so does what is sent next
		return outcome{}, false, nil
	}
	return out, true, nil
}

// told reports whether what the first row of a look tells is that the rows are the answer.
func (c *conn) told(k *call, rows *lookedRows) (answered bool) {
	l := k.Query.Look
	if len(rows.ahead) == 0 {
		if !l.Always {
			k.state.tableLook.pause(lookAgain)
		}
		return l.Always
	}
	answered = true
	for i, t := range l.Tables {
		if rows.has(0, i) {
			c.connector.trafficOf(t).slotted.Store(int64(catalog.Clock() + lookAgain))
			answered = false
		}
	}
	return answered
}

// lookState says whether it pays to send a plan's look.
type lookState struct {
	credit atomic.Int32 // grows by one with each that was the answer, and falls by two with each other
	vain   atomic.Int64 // by clock: until then it is not sent
}

func (l *lookState) pays(now int64) bool { return now >= l.vain.Load() }

func (l *lookState) pause(long time.Duration) { l.vain.Store(int64(catalog.Clock() + long)) }

// told reports whether no row has slots, and remembers whether it pays to ask.
func (l *lookState) told(rows *lookedRows) bool {
	answered, pause := true, lookAgain
	if len(rows.ahead) > maxLooked {
		answered, pause = false, longLooking
	}
	for row := range rows.ahead {
		for i := range rows.hidden {
			answered = answered && !rows.has(row, i)
		}
	}
	switch {
	case answered:
		if l.credit.Load() < mostCredit {
			l.credit.Add(1)
		}
	case pause > lookAgain || l.credit.Add(-vainCosts) < 0:
		l.credit.Store(0)
		l.pause(pause)
	}
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
