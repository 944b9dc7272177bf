package countermysql

import "slices"

// prepare makes the template of an increment of one row.
func (inc *increment) prepare() {
	t := inc.t
	inc.used = places(t.counters, func(_ int, c *column) bool {
		return slices.ContainsFunc(inc.deltas, func(d delta) bool { return d.c == c })
	})
	inc.touched = places(t.touch, func(_ int, c *column) bool {
		return c.onUpdate || slices.ContainsFunc(inc.touch, func(set touch) bool { return set.c == c })
	})
	inc.text = newTemplate(t, inc.name, inc.pins[0].cols, inc.used, inc.touched, true)
	inc.directly = newDirectTemplate(t, inc.name, inc.used, inc.touched, true)
}

// filler fills the template of an increment with the arguments of a call. A
// connection has one, whose memory it uses again.
type filler struct {
	inc    *increment
	b      binder
	deltas []int64
	times  []string
	bound  bool
	buf    []byte
}

// bind takes the arguments; false where the fast way is not right.
func (f *filler) bind(inc *increment, b binder) bool {
	f.inc, f.b = inc, b
	f.deltas, f.times = resize(f.deltas, len(inc.t.counters)), resize(f.times, len(inc.t.touch))
	deltas := inc.deltas
	if inc.rows != nil {
		deltas = inc.rows[0].deltas
		for _, v := range inc.rows[0].values {
			if n, ok := (delta{c: v.c, v: v.v}).units(b); !ok || !v.c.holds(n) {
				return false
			}
		}
	}
	zero, ok := inc.units(deltas, b, f.deltas)
	if !ok || !inc.times(b, f.times) {
		return false
	}
	return !zero && b.soundPins(inc.pins)
}

func resize[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

func (f *filler) delta(buf []byte, i int) []byte {
	return f.inc.t.counters[i].appendUnits(buf, f.deltas[i])
}

func (f *filler) touch(buf []byte, i int) []byte { return append(buf, f.times[i]...) }

func (f *filler) where(buf []byte) []byte {
	if f.inc.rows != nil {
		buf, f.bound = f.inc.rows[0].key.append(buf, f.inc.name, f.b)
	} else {
		buf, f.bound = f.inc.where.append(buf, f.b)
	}
	return buf
}

// statement is the text to send; ok is false for an argument without an exact text.
func (f *filler) statement(prefix, lock string, slot int) (text string, ok bool) {
	f.buf = f.inc.text.fill(f.buf[:0], prefix, lock, slot, f)
	return string(f.buf), f.bound
}

// direct is statement for the base row.
func (f *filler) direct(prefix string) (text string, ok bool) {
	f.buf = f.inc.directly.fill(f.buf[:0], prefix, "", 0, f)
	return string(f.buf), f.bound
}

// key is the key that the increment's condition gives; nil if it can't be told.
func (f *filler) key() key {
	k := make(key, len(f.inc.pin.cols))
	for i, c := range f.inc.pin.cols {
		var ok bool
		if k[i], ok = f.b.keyText(c, f.inc.pin.values[i]); !ok {
			return nil
		}
	}
	return k
}
