package catalog

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// Key is the value of a table's key columns as the server gave them: numbers
// and times as text, strings as the hexadecimal of their bytes. The same row
// always has the same key.
type Key []string

func (k Key) ID() string { return strings.Join(k, "\x00") }

func WhereEqual(cols []*Column, k Key, name string) string {
	if len(cols) == 0 {
		return "TRUE"
	}
	conds := make([]string, len(cols))
	for i, c := range cols {
		conds[i] = c.equals(name+"."+sqltext.Quote(c.Name), k[i])
	}
	return strings.Join(conds, " AND ")
}

func WhereAny(cols []*Column, keys []Key, name string) string {
	if len(cols) == 1 && len(keys) > 1 && !slices.ContainsFunc(keys, func(k Key) bool { return cols[0].incomplete(k[0]) }) {
		list := make([]string, len(keys))
		for i, k := range keys {
			list[i] = cols[0].Literal(k[0])
		}
		return name + "." + sqltext.Quote(cols[0].Name) + " IN (" + strings.Join(list, ", ") + ")"
	}
	conds := make([]string, len(keys))
	for i, k := range keys {
		conds[i] = "(" + WhereEqual(cols, k, name) + ")"
	}
	return strings.Join(conds, " OR ")
}

func CompareKeys(cols []*Column, x, y Key) int {
	for i, c := range cols {
		var n int
		if c.Integer() || c.DataType == "year" {
			n = compareIntegers(x[i], y[i])
		} else {
			n = strings.Compare(x[i], y[i])
		}
		if n != 0 {
			return n
		}
	}
	return 0
}

func compareIntegers(x, y string) int {
	xNeg, yNeg := strings.HasPrefix(x, "-"), strings.HasPrefix(y, "-")
	switch {
	case xNeg != yNeg:
		if xNeg {
			return -1
		}
		return 1
	case xNeg:
		x, y = y[1:], x[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
}

func SortTables(tables []*Table) {
	slices.SortFunc(tables, func(x, y *Table) int { return strings.Compare(x.String(), y.String()) })
}

// SelectKey is the select list that reads the key of the table called name.
func (t *Table) SelectKey(name string) string {
	exprs := make([]string, len(t.Key))
	for i, c := range t.Key {
		ref := name + "." + sqltext.Quote(c.Name)
		switch {
		case c.StringKey():
			exprs[i] = "HEX(" + ref + ")"
		case c.zerofill(): // as a number has it, without zeros before
			exprs[i] = "CAST(" + ref + " + 0 AS CHAR)"
		default:
			exprs[i] = "CAST(" + ref + " AS CHAR)" // as text even with parseTime
		}
	}
	if len(exprs) == 0 {
		return "1"
	}
	return strings.Join(exprs, ", ")
}

// Where selects the key's row of the table called name.
func (t *Table) Where(k Key, name string) string { return WhereEqual(t.Key, k, name) }

// untoldKey tells the rows of the table called name whose key has no text of its own: with
// such a date in it, or a TIMESTAMP whose text is that of another one, in the hour that comes twice when
// summer time ends: a slots table could have them under another key. Their increments are
// verbatim.
func (t *Table) untoldKey(name string) (conds []string) {
	for _, c := range t.Key {
		ref := name + "." + sqltext.Quote(c.Name)
		if c.Dated() {
			conds = append(conds, "DAYOFMONTH("+ref+") = 0", "MONTH("+ref+") = 0")
		}
		if c.DataType == "timestamp" {
			conds = append(conds, "UNIX_TIMESTAMP("+ref+") <> UNIX_TIMESTAMP(CAST("+ref+" AS CHAR))")
		}
	}
	return conds
}

// WhereAny selects the rows of several keys.
func (t *Table) WhereAny(keys []Key, name string) string { return WhereAny(t.Key, keys, name) }

// Compare is the canonical order of keys, in which every transaction takes its
// locks: numbers by value, all else by bytes.
func (t *Table) Compare(x, y Key) int { return CompareKeys(t.Key, x, y) }

// Describe writes a key for people.
func (t *Table) Describe(k Key) string {
	if len(t.Key) == 0 {
		return "the only row"
	}
	parts := make([]string, len(t.Key))
	for i, c := range t.Key {
		v := k[i]
		if c.StringKey() {
			b, err := hex.DecodeString(v)
			if err == nil && c.Collation != "" {
				v = strconv.Quote(string(b))
			} else {
				v = "0x" + v
			}
		}
		parts[i] = c.Name + "=" + v
	}
	return strings.Join(parts, " ")
}

// Planned is true of every row of a slots table that is for the known key; of one that
// another process has made anew, for another key, it is an error, 1054.
func (t *Table) Planned(name string) string {
	return name + "." + sqltext.Quote(t.SlotCol) + " IS NOT NULL"
}

// WholeKey is true of rows whose dates in the key have a month and a day, or nothing at
// all, and an error, 1690, of others: with NO_ZERO_IN_DATE the server makes another key
// of them in a UNION. Such a row has no slots, so it is looked at where it counts. "" if
// the key has no dates.
func (t *Table) WholeKey(name string) string {
	var conds []string
	for _, c := range t.Key {
		if ref := sqltext.Quote(name) + "." + sqltext.Quote(c.Name); c.Dated() {
			conds = append(conds, "(DAYOFMONTH("+ref+") = 0 OR MONTH("+ref+") = 0) AND "+ref+" + 0 <> 0")
		}
	}
	if conds == nil {
		return ""
	}
	return "18446744073709551615 + (" + strings.Join(conds, " OR ") + ") > 0"
}

// SameKey compares the keys of two tables, given by their quoted names.
func (t *Table) SameKey(x, y string) string {
	if len(t.Key) == 0 {
		return "TRUE"
	}
	conds := make([]string, len(t.Key))
	for i, c := range t.Key {
		conds[i] = x + "." + sqltext.Quote(c.Name) + " = " + y + "." + sqltext.Quote(c.Name)
	}
	return strings.Join(conds, " AND ")
}

// AsKnown are those of the whole key of the table called name.
func (t *Table) AsKnown(name string, byKey bool) (conds []string) {
	for _, c := range t.Key {
		conds = append(conds, c.asKnown(name+"."+sqltext.Quote(c.Name), byKey)...)
	}
	return conds
}

// Incrementable are the conditions of a row whose increments a slot may hold.
func (t *Table) Incrementable(name string, byKey bool) []string {
	conds := t.AsKnown(name, byKey)
	for _, untold := range t.untoldKey(name) {
		conds = append(conds, "NOT ("+untold+")")
	}
	return conds
}

func (t *Table) WritesKey(k Key) bool {
	for i, c := range t.Key {
		if !c.Writes(k[i]) {
			return false
		}
	}
	return true
}
