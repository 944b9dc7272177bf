package slotsql

import (
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// The subqueries of looks are aggregates, which always have a row, and so are NULL, and not 0,
// where the server has given them up (see [Finished]): then sums are asked for.

// HasSlots says whether a table has slots. The first of its index tells.
func HasSlots(t *catalog.Table) string {
	first := t.SlotCol
	if len(t.Key) > 0 {
		first = t.Key[0].Name
	}
	return "(SELECT MIN(" + catalog.PrivateName + "." + sqltext.Quote(first) + ") IS NOT NULL FROM " + t.Slots() + " AS " + catalog.PrivateName + ")"
}

// RowHasSlots says how many slots a row of the table called name has.
func RowHasSlots(t *catalog.Table, name string) string {
	return "(SELECT COUNT(*) FROM " + t.Slots() + " AS " + catalog.PrivateName + " WHERE " + t.Key.Same(catalog.PrivateName, sqltext.Quote(name)) + " AND " + t.Planned(catalog.PrivateName) + ")"
}
