package plan

import (
	"database/sql/driver"
	"slices"
	"strconv"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// Filler is an increment of one row with the arguments of a call: it fills the templates of its plan,
// or makes the entry that goes with those of others. A connection has one, whose memory it uses again.
type Filler struct {
	inc    *Increment
	b      Binder
	deltas []int64
	times  []string
	bound  bool // all values of the condition that was written last have a text
	buf    []byte
	args   slotsql.Numbers
}

// Bind takes the arguments; false where the fast way is not right.
func (f *Filler) Bind(inc *Increment, b Binder) bool {
	f.inc, f.b = inc, b
	f.deltas, f.times = resize(f.deltas, len(inc.Table.Counters)), resize(f.times, len(inc.Table.Touch))
	deltas := inc.Deltas
	if inc.Rows != nil {
		deltas = inc.Rows[0].Deltas
		for _, v := range inc.Rows[0].values {
			if n, ok := (Delta{C: v.c, v: v.v}).Units(b); !ok || !v.c.Holds(n) {
				return false
			}
		}
	}
	zero, ok := inc.units(deltas, b, f.deltas)
	if !ok || !times(inc.Table, inc.Touch, b, f.times) {
		return false
	}
	return !zero && b.MatchExactly(inc.Keys)
}

func resize[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

func (f *Filler) Delta(buf []byte, i int) []byte {
	return f.inc.Table.Counters[i].AppendUnits(buf, f.deltas[i])
}

func (f *Filler) Touch(buf []byte, i int) []byte { return append(buf, f.times[i]...) }

func (f *Filler) Where(buf []byte) []byte {
	if f.inc.Rows != nil {
		buf, f.bound = f.inc.Rows[0].key.append(buf, f.inc.Name, f.b)
	} else {
		buf, f.bound = f.inc.where.append(buf, f.b)
	}
	return buf
}

// Statement is the text to send; ok is false for an argument without an exact text.
func (f *Filler) Statement(prefix, lock string, slot int) (text string, ok bool) {
	f.buf = f.inc.Text.Fill(f.buf[:0], prefix, lock, slot, f)
	return string(f.buf), f.bound
}

// Direct is Statement for the base row.
func (f *Filler) Direct(prefix string) (text string, ok bool) {
	f.buf = f.inc.directly.Fill(f.buf[:0], prefix, "", 0, f)
	return string(f.buf), f.bound
}

// DirectApart is Direct with its numbers apart; "" where it has to be sent as a whole.
func (f *Filler) DirectApart() (text string, numbers []driver.NamedValue) {
	if f.inc.apart == "" {
		return "", nil
	}
	integers := true
	f.args = f.inc.directly.Numbers(f.args[:0], f.deltas, func(n slotsql.Numbers) slotsql.Numbers {
		for _, v := range f.inc.Keys[0].values {
			x, _ := f.b.raw(v)
			_, is := x.(int64)
			integers, n = integers && is, n.With(x)
		}
		return n
	})
	if !integers {
		return "", nil
	}
	return f.inc.apart, f.args
}

// Entry is an increment that joins others, by its key; ok is false if it has to go by itself.
func (f *Filler) Entry() (e *slotsql.RowIncrement, ok bool) {
	k := f.Key()
	f.buf = f.Where(f.buf[:0])
	if k == nil || !f.bound {
		return nil, false
	}
	e = &slotsql.RowIncrement{ID: k.ID(), Key: k, Deltas: slices.Clone(f.deltas), Touch: slices.Clone(f.times), Where: string(f.buf)}
	if f.inc.rest != nil {
		if e.Rest, ok = f.inc.rest.bind(f.b); !ok {
			return nil, false
		}
		e.ID += "\x01" + e.Rest
	}
	for _, at := range e.Touch {
		if at != "" && at[0] != '\'' {
			e.ID += "\x02" + at
		}
	}
	return e, true
}

// Key is the key that the increment's condition gives; nil if it can't be told.
func (f *Filler) Key() catalog.Key {
	k := make(catalog.Key, len(f.inc.Keys[0].Columns))
	for i, c := range f.inc.Keys[0].Columns {
		var ok bool
		if k[i], ok = f.b.keyText(c, f.inc.Keys[0].values[i]); !ok {
			return nil
		}
	}
	return k
}

// Deltas are what the increment adds, by counter of its table, until the next one is bound.
func (f *Filler) Deltas() []int64 { return f.deltas }

// AppendKey writes the id of the key that the increment's condition gives; ok is false if it
// can't be told.
func (f *Filler) AppendKey(buf []byte) (_ []byte, ok bool) {
	for i, c := range f.inc.Keys[0].Columns {
		if i > 0 {
			buf = append(buf, 0)
		}
		switch x, _ := f.b.raw(f.inc.Keys[0].values[i]); x := x.(type) {
		case int64:
			buf, ok = strconv.AppendInt(buf, x, 10), c.Integer()
		case uint64:
			buf, ok = strconv.AppendUint(buf, x, 10), c.Integer()
		default:
			var text string
			text, ok = f.b.keyText(c, f.inc.Keys[0].values[i])
			buf = append(buf, text...)
		}
		if !ok {
			return buf, false
		}
	}
	return buf, true
}
