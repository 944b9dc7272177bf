package slotsql

import (
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Numbers are those of a statement that is written with parameters in their place, so that
// it is the same text for all rows. To nil they stand in the text.
type Numbers struct{ Values []driver.NamedValue }

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

// add is a parameter in the text.
func (n *Numbers) add(v int64) string {
	n.Values = append(n.Values, driver.NamedValue{Ordinal: len(n.Values) + 1, Value: v})
	return "?"
}

// where is the condition of a key in the table called name.
func (n *Numbers) where(k catalog.KeyColumns, v catalog.Key, name string) string {
	if n == nil {
		return k.Where(v, name)
	}
	conds := make([]string, len(k))
	for i, c := range k {
		number, _ := strconv.ParseInt(v[i], 10, 64) // it is one
		conds[i] = name + "." + sqltext.Quote(c.Name) + " = " + n.add(number)
	}
	return strings.Join(conds, " AND ")
}

// of fills a template with what an entry adds.
func (n *Numbers) of(u *Upsert) filling {
	if n == nil {
		return u
	}
	return apart{u, n}
}

// Apart is the statement of a template for an entry that has AreNumbers.
func (tp Template) Apart(u *Upsert) (text string, numbers []driver.NamedValue) {
	n := &Numbers{}
	text = string(tp.Fill(nil, "", "", 0, apart{u, n}))
	return text, n.Values
}

// apart is an Upsert whose numbers are parameters.
type apart struct {
	*Upsert
	numbers *Numbers
}

func (a apart) Delta(buf []byte, i int) []byte {
	return append(buf, a.numbers.add(a.Entries[0].Deltas[i])...)
}

func (a apart) Where(buf []byte) []byte {
	return append(buf, a.numbers.where(a.Columns, a.Entries[0].Key, sqltext.Quote(a.Name))...)
}
