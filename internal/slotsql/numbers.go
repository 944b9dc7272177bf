package slotsql

import (
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// A statement may be written with parameters in the place of its numbers, so that it is the same
// text for all rows, and made once.

// Numbers are those of a statement, in the order of its text.
type Numbers []driver.NamedValue

// With are the numbers with another one behind them.
func (n Numbers) With(v driver.Value) Numbers {
	return append(n, driver.NamedValue{Ordinal: len(n) + 1, Value: v})
}

func (n Numbers) withKey(k catalog.Key) Numbers {
	for _, v := range k {
		number, _ := strconv.ParseInt(v, 10, 64) // it is one
		n = n.With(number)
	}
	return n
}

// AreNumbers reports whether an entry's key, and what it adds, are integers, and it sets
// nothing else.
func AreNumbers(t *catalog.Table, e *RowIncrement) bool {
	for i, c := range t.Counters {
		if e.Deltas[i] != 0 && !c.Integer() {
			return false
		}
	}
	return e.Where == "" && !slices.ContainsFunc(e.Touch, func(at string) bool { return at != "" }) && len(e.Key) == len(t.Key) &&
		!slices.ContainsFunc(t.Key, func(c *catalog.Column) bool { return !c.Integer() }) && !slices.ContainsFunc(e.Key, func(v string) bool { return !isInt64(v) })
}

func isInt64(v string) bool {
	_, err := strconv.ParseInt(v, 10, 64)
	return err == nil
}

// Apart is the statement of a template for entries that have [AreNumbers].
func (tp Template) Apart(u *Upsert) string { return string(tp.Fill(nil, "", "", 0, apart{u})) }

// Numbers appends those of [Template.Apart], of what is added, by counter, and of the key.
func (tp Template) Numbers(n Numbers, deltas []int64, withKey func(Numbers) Numbers) Numbers {
	for _, p := range tp {
		switch p.hole {
		case holeDelta:
			n = n.With(deltas[p.i])
		case holeWhere:
			n = withKey(n)
		}
	}
	return n
}

// NumbersOf are those for an entry.
func (tp Template) NumbersOf(e *RowIncrement) Numbers {
	return tp.Numbers(make(Numbers, 0, len(tp)), e.Deltas, func(n Numbers) Numbers { return n.withKey(e.Key) })
}

// apart is an Upsert whose numbers are parameters.
type apart struct{ *Upsert }

func (apart) Delta(buf []byte, _ int) []byte { return append(buf, '?') }

func (a apart) Where(buf []byte) []byte {
	return append(buf, whereApart(a.Columns, sqltext.Quote(a.Name))...)
}

// whereApart is the condition of a key in the table called name.
func whereApart(k catalog.KeyColumns, name string) string {
	conds := make([]string, len(k))
	for i, c := range k {
		conds[i] = name + "." + sqltext.Quote(c.Name) + " = ?"
	}
	return strings.Join(conds, " AND ")
}
