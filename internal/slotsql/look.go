package slotsql

import (
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

// CountSlots is how many slots a row of the table called name has.
func CountSlots(t *catalog.Table, name string) string {
	return "(SELECT COUNT(*)" + slotsOfRow(t, name) + ")"
}

func slotsOfRow(t *catalog.Table, name string) string {
	return " FROM " + t.Slots() + " AS " + catalog.PrivateName + " WHERE " + t.Key.Same(catalog.PrivateName, sqltext.Quote(name)) + " AND " + t.Planned(catalog.PrivateName)
}

// RowHasSlots says whether a row of a table that has a key has slots; 0: none. MySQL would take
// a column that an aggregate of another query refers to for one that can be NULL.
func RowHasSlots(t *catalog.Table, name string) string {
	if t.MariaDB {
		return CountSlots(t, name)
	}
	as := sqltext.Quote(name)
	row := "(SELECT 0 FROM " + t.Base() + " AS " + PrivateRows + " WHERE " + t.Key.Same(PrivateRows, as) + ")"
	return "COALESCE((SELECT 1" + slotsOfRow(t, name) + " LIMIT 1), " + row + ", IF(" + as + "." + sqltext.Quote(t.Key[0].Name) + " IS NULL, 0, NULL))" // an outer join has none
}
