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

func (v Key) ID() string { return strings.Join(v, "\x00") }

func (v Key) KeyOf() Key { return v }

// Keyed is what has a key: a row, what is known of one, or a key itself.
type Keyed interface{ KeyOf() Key }

func KeysOf[T Keyed](all []T) []Key {
	keys := make([]Key, len(all))
	for i, one := range all {
		keys[i] = one.KeyOf()
	}
	return keys
}

// KeyColumns are the columns by which a row is found: those of a table's key, or of another
// unique one. Of a table without a key, which has one row, there are none.
type KeyColumns []*Column

// Integers reports whether it is a key of integers, which nobody spells otherwise than the server.
func (k KeyColumns) Integers() bool {
	return len(k) > 0 && !slices.ContainsFunc(k, func(c *Column) bool { return !c.Integer() })
}

func (k KeyColumns) Has(name string) bool { return FindColumn(k, name) != nil }

// Refs are the columns of the table called name, each behind that.
func (k KeyColumns) Refs(name string) []string {
	refs := QuoteNames(k)
	for i := range refs {
		refs[i] = name + "." + refs[i]
	}
	return refs
}

// Where selects the row with a key in the table called name.
func (k KeyColumns) Where(v Key, name string) string {
	if len(k) == 0 {
		return "TRUE"
	}
	conds := make([]string, len(k))
	for i, c := range k {
		conds[i] = c.equals(name+"."+sqltext.Quote(c.Name), v[i])
	}
	return strings.Join(conds, " AND ")
}

// WhereAny selects the rows with several keys.
func (k KeyColumns) WhereAny(keys []Key, name string) string {
	if len(k) == 1 && len(keys) > 1 && !slices.ContainsFunc(keys, func(v Key) bool { return k[0].incomplete(v[0]) }) {
		list := make([]string, len(keys))
		for i, v := range keys {
			list[i] = k[0].Literal(v[0])
		}
		return name + "." + sqltext.Quote(k[0].Name) + " IN (" + strings.Join(list, ", ") + ")"
	}
	conds := make([]string, len(keys))
	for i, v := range keys {
		conds[i] = "(" + k.Where(v, name) + ")"
	}
	return strings.Join(conds, " OR ")
}

// Compare is the canonical order of keys, in which every transaction takes its
// locks: numbers by value, all else by bytes.
func (k KeyColumns) Compare(x, y Key) int {
	for i, c := range k {
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

// Select is the select list that reads the key of the table called name.
func (k KeyColumns) Select(name string) string {
	exprs := make([]string, len(k))
	for i, c := range k {
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

// Cut parts a row that begins with what [KeyColumns.Select] reads: the key, and what is behind it.
func (k KeyColumns) Cut(row []string) (Key, []string) {
	return Key(row[:len(k)]), row[max(len(k), 1):]
}

// KeysOfRows are the keys that rows begin with.
func (k KeyColumns) KeysOfRows(rows [][]string) []Key {
	var keys []Key
	for _, row := range rows {
		key, _ := k.Cut(row)
		keys = append(keys, key)
	}
	return keys
}

// untold tells the rows of the table called name whose key has no text of its own: with
// such a date in it, or a TIMESTAMP whose text is that of another one, in the hour that comes twice when
// summer time ends: a slots table could have them under another key. Their increments are
// verbatim.
func (k KeyColumns) untold(name string) (conds []string) {
	for _, c := range k {
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

// Describe writes a key for people.
func (k KeyColumns) Describe(v Key) string {
	if len(k) == 0 {
		return "the only row"
	}
	parts := make([]string, len(k))
	for i, c := range k {
		text := v[i]
		if c.StringKey() {
			b, err := hex.DecodeString(text)
			if err == nil && c.Collation != "" {
				text = strconv.Quote(string(b))
			} else {
				text = "0x" + text
			}
		}
		parts[i] = c.Name + "=" + text
	}
	return strings.Join(parts, " ")
}

// Whole is true of rows whose dates in the key have a month and a day, or nothing at
// all, and an error, 1690, of others: with NO_ZERO_IN_DATE the server makes another key
// of them in a UNION. Such a row has no slots, so it is looked at where it counts. "" if
// the key has no dates.
func (k KeyColumns) Whole(name string) string {
	var conds []string
	for _, c := range k {
		if ref := sqltext.Qualified(name, c.Name); c.Dated() {
			conds = append(conds, "(DAYOFMONTH("+ref+") = 0 OR MONTH("+ref+") = 0) AND "+ref+" + 0 <> 0")
		}
	}
	if conds == nil {
		return ""
	}
	return "18446744073709551615 + (" + strings.Join(conds, " OR ") + ") > 0"
}

// Same compares the keys of two tables, given by their quoted names.
func (k KeyColumns) Same(x, y string) string {
	if len(k) == 0 {
		return "TRUE"
	}
	conds := make([]string, len(k))
	for i, c := range k {
		conds[i] = x + "." + sqltext.Quote(c.Name) + " = " + y + "." + sqltext.Quote(c.Name)
	}
	return strings.Join(conds, " AND ")
}

// AsKnown are the conditions by which each column of the key, in the table called name, has a value that
// the known type holds as it is; byKey as for one column.
func (k KeyColumns) AsKnown(name string, byKey bool) (conds []string) {
	for _, c := range k {
		conds = append(conds, c.asKnown(name+"."+sqltext.Quote(c.Name), byKey)...)
	}
	return conds
}

// Incrementable are the conditions of a row whose increments a slot may hold.
func (k KeyColumns) Incrementable(name string, byKey bool) []string {
	conds := k.AsKnown(name, byKey)
	for _, untold := range k.untold(name) {
		conds = append(conds, "NOT ("+untold+")")
	}
	return conds
}

func (k KeyColumns) Writes(v Key) bool {
	for i, c := range k {
		if !c.Writes(v[i]) {
			return false
		}
	}
	return true
}

// SameAs reports whether keys of an older version of the table mean the same in it.
func (k KeyColumns) SameAs(old KeyColumns) bool {
	return slices.EqualFunc(k, old, func(c, o *Column) bool {
		return c.sameDigits(o) && c.Collation == o.Collation && (c.DataType == o.DataType || c.Integer() && o.Integer())
	})
}
