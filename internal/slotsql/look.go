package slotsql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// The subqueries of looks always have a row, and so are NULL, and not 0, where the server has
// given them up (see [Finished]): then sums are asked for.

// HasSlots says whether a table has slots. The first of its index tells.
func HasSlots(t *catalog.Table) string {
	first := t.SlotCol
	if len(t.Key) > 0 {
		first = t.Key[0].Name
	}
	return "(SELECT MIN(" + catalog.PrivateName + "." + sqltext.Quote(first) + ") IS NOT NULL FROM " + t.Slots() + " AS " + catalog.PrivateName + ")"
}

// RowHasSlots says whether a row of the table called name, which has a key, has slots.
func RowHasSlots(t *catalog.Table, name string) string {
	return "(SELECT MIN(" + catalog.PrivateName + "." + sqltext.Quote(t.SlotCol) + ") IS NOT NULL FROM " + t.Slots() + " AS " + catalog.PrivateName + " WHERE " + t.Key.Same(catalog.PrivateName, sqltext.Quote(name)) + ")"
}

// CountSlots is how many slots a row of the table called name has.
func CountSlots(t *catalog.Table, name string) string {
	return "(SELECT COUNT(*)" + slotsOfRow(t, name) + ")"
}

func slotsOfRow(t *catalog.Table, name string) string {
	return " FROM " + t.Slots() + " AS " + catalog.PrivateName + " WHERE " + t.Key.Same(catalog.PrivateName, sqltext.Quote(name)) + " AND " + t.Planned(catalog.PrivateName)
}

// RowSums says how many slots a row of a table that has a key has, and their sums of some counters:
// "2,41,-3".
func RowSums(t *catalog.Table, name string, counters []*catalog.Column) string {
	sums := ""
	for _, c := range counters {
		sums += ", SUM(" + catalog.PrivateName + "." + sqltext.Quote(c.Name) + ")"
	}
	return "(SELECT CONCAT_WS(',', COUNT(*)" + sums + ")" + slotsOfRow(t, name) + ")"
}

// AllSlots are all slots of a table, their keys and what they hold of some counters, in one text,
// behind their number: "2;7,41,0,;9,-3,1,;", on MySQL "2;["7,41,0,;", "9,-3,1,;"]". With a column, only
// those that have a base row, and behind each what that has of it. A text that is too long for the
// server is cut, on MySQL none: GROUP_CONCAT, bounded by a variable, to 1 KB if nobody sets it, would be
// (https://dev.mysql.com/doc/refman/8.4/en/server-system-variables.html#sysvar_group_concat_max_len).
func AllSlots(t *catalog.Table, counters []*catalog.Column, by *catalog.Column) string {
	const base = catalog.PrivateName + "_base"
	var cells []string
	for _, c := range slices.Concat(t.Key, counters) {
		cells = append(cells, catalog.PrivateName+"."+sqltext.Quote(c.Name))
	}
	from := t.Slots() + " AS " + catalog.PrivateName
	if by != nil {
		cells = append(cells, base+"."+sqltext.Quote(by.Name))
		from += " STRAIGHT_JOIN " + t.Base() + " AS " + base + " ON " + t.Key.Same(base, catalog.PrivateName)
	}
	slot := "CONCAT_WS(',', " + strings.Join(cells, ", ") + ", ';')"
	all := "JSON_ARRAYAGG(" + slot + ")"
	if t.MariaDB {
		all = "GROUP_CONCAT(" + slot + " SEPARATOR '')"
	}
	return "(SELECT CONCAT_WS(';', COUNT(*), " + all + ") FROM " + from + " WHERE " + t.Planned(catalog.PrivateName) + ")"
}

// fewSlots is how many slots are too many to be told so.
const fewSlots = 128

// AreFew tells whether a table has fewer.
func AreFew(t *catalog.Table) string {
	return "SELECT COUNT(*) < " + strconv.Itoa(fewSlots) + " FROM (SELECT 1 FROM " + t.Slots() + " LIMIT " + strconv.Itoa(fewSlots) + ") AS " + catalog.PrivateName
}

// KeyOf are the key's columns of a row, integers. As they are, ORDER BY could take them for what it names.
func KeyOf(t *catalog.Table, name string) string {
	cols := make([]string, len(t.Key))
	for i, c := range t.Key {
		cols[i] = sqltext.Qualified(name, c.Name) + " + 0 AS countermysql_key" + strconv.Itoa(i)
	}
	return strings.Join(cols, ", ")
}

// ValueOf is what a base row has of a column.
func ValueOf(name string, c *catalog.Column) string {
	return sqltext.Qualified(name, c.Name) + " + 0 AS countermysql_value"
}
