package catalog

import (
	"cmp"
	"slices"
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
