package slotsql

import (
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Uncancel takes out of a sum what cancels out in it, although e adds to it: the sum gets
// what e adds, and the entries returned take that away. A counter to which the
// statement adds nothing is not looked at, and may be NULL.
func (sum *RowIncrement) Uncancel(e *RowIncrement) (opposite []*RowIncrement) {
	for i, d := range e.Deltas {
		if d != 0 && sum.Deltas[i] == 0 {
			o := &RowIncrement{ID: sum.ID, Key: sum.Key, Deltas: make([]int64, len(sum.Deltas)), Touch: make([]string, len(sum.Touch)), Where: sum.Where, Rest: sum.Rest}
			sum.Deltas = slices.Clone(sum.Deltas) // perhaps it is the caller's own
			sum.Deltas[i], o.Deltas[i] = d, -d
			opposite = append(opposite, o)
		}
	}
	return opposite
}

// RowIncrement is what is to be added to one row and is not sent yet.
type RowIncrement struct {
	ID     string // entries with the same id are summed; their times are all quoted
	Key    catalog.Key
	Deltas []int64   // by counter, in units
	Touch  []string  // by touch column, SQL; "" if not touched
	Where  string    // selects the row; "": the key does
	Rest   string    // what else than the key the row has to meet
	Finds  []Locator // how the application found the row, should others re-key it
	Held   bool      // its transaction has locked the row, shared
	Slot   int       // a reserved one that its transaction has locked, to which all of it goes; 0: any, by an upsert
}

// OnlyIf has the row meet a condition besides, which calls the table so.
func (e *RowIncrement) OnlyIf(t *catalog.Table, name, condition string) {
	e.Rest = condition
	e.ID += "\x01" + condition
	e.Where = t.Key.Where(e.Key, sqltext.Quote(name)) + " AND (" + condition + ")"
}

// Further is that condition, to stand behind others.
func (e *RowIncrement) Further() string {
	if e.Rest == "" {
		return ""
	}
	return " AND (" + e.Rest + ")"
}

// Counts reports whether it adds to a counter: all of it may have cancelled out but a time.
func (e *RowIncrement) Counts() bool {
	return slices.ContainsFunc(e.Deltas, func(d int64) bool { return d != 0 })
}

// Cancels reports whether all that it adds cancelled out, if it does not even touch its row.
func (e *RowIncrement) Cancels() bool {
	return !e.Counts() && !slices.ContainsFunc(e.Touch, func(at string) bool { return at != "" })
}

// Empty reports whether the entry's increments cancelled out, in each row that may be meant: what
// was found in several ways may be several rows that had the key one after the other.
func (e *RowIncrement) Empty() bool {
	if !e.Cancels() || e.Held {
		return e.Cancels()
	}
	sums := map[string]*RowIncrement{}
	for _, f := range e.Finds {
		way := f.Name + "\x00" + f.Where
		if sums[way] == nil {
			sums[way] = &RowIncrement{Deltas: make([]int64, len(f.Deltas))}
		}
		if !sums[way].Add(&RowIncrement{Deltas: f.Deltas}) {
			return false
		}
	}
	for _, sum := range sums {
		if sum.Counts() {
			return false
		}
	}
	return true
}

// Add sums another entry of the same id into this one; false, and as before, if a
// sum leaves 64 bits.
func (e *RowIncrement) Add(o *RowIncrement) bool {
	for i, d := range o.Deltas {
		if (e.Deltas[i]+d > e.Deltas[i]) != (d > 0) && d != 0 {
			return false
		}
	}
	for i, d := range o.Deltas {
		e.Deltas[i] += d
	}
	for i, at := range o.Touch {
		e.Touch[i] = max(e.Touch[i], at)
	}
	e.Finds = append(e.Finds, o.Finds...)
	e.Held = e.Held || o.Held
	e.Slot = max(e.Slot, o.Slot)
	return true
}

func (e *RowIncrement) Clone() *RowIncrement {
	out := *e
	out.Deltas, out.Touch, out.Finds = slices.Clone(e.Deltas), slices.Clone(e.Touch), slices.Clone(e.Finds)
	return &out
}

// Widened is the entry with the columns that its table has got behind those that it had.
func (e *RowIncrement) Widened(t *catalog.Table) *RowIncrement {
	out := e.Clone()
	out.Deltas, out.Touch = widened(e.Deltas, len(t.Counters)), widened(e.Touch, len(t.Touch))
	for i, f := range e.Finds {
		out.Finds[i].Deltas = widened(f.Deltas, len(t.Counters))
	}
	return out
}

func widened[V any](values []V, n int) []V {
	return append(values[:len(values):len(values)], make([]V, n-len(values))...)
}

// Locator is a condition of the application's that matched rows by another key than
// the slots table's, and what was added to each by it.
type Locator struct {
	Name, Where string
	Deltas      []int64
	Keys        []catalog.Key // of all those rows, in canonical order
}

// Adds are the assignments to the columns of the base or slots table called name.
func (e *RowIncrement) Adds(t *catalog.Table, name string) string {
	var sets []string
	for i, c := range t.Counters {
		if ref := name + "." + sqltext.Quote(c.Name); e.Deltas[i] != 0 {
			sets = append(sets, ref+" = "+ref+" + "+c.FormatUnits(e.Deltas[i]))
		}
	}
	for i, c := range t.Touch {
		if ref := name + "." + sqltext.Quote(c.Name); e.Touch[i] != "" {
			sets = append(sets, ref+" = "+catalog.Later(ref, "CAST("+e.Touch[i]+" AS DATETIME(6))"))
		}
	}
	return strings.Join(sets, ", ")
}

func (e *RowIncrement) KeyOf() catalog.Key { return e.Key }
