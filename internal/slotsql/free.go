package slotsql

import (
	"strconv"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// IsFree is a condition on a row of the table called name that fails, out of range, if the row has slots.
func IsFree(t *catalog.Table, name string) string {
	return noSlot(t, t.Key.Same(catalog.PrivateName, sqltext.Quote(name)))
}

// AreFree is that for rows of the table called name, selected by keys, and slots of the same keys. It locks all
// rows first, in the order of their keys, as AtRows does; their slots are a constant to the server, too, so
// that it has changed no row by then. IF asks for the one behind the other.
func AreFree(t *catalog.Table, name, rows, slots string, many int) string {
	name = sqltext.Quote(name)
	locked := "SELECT " + name + "." + sqltext.Quote(t.Counters[0].Name) + " FROM " + t.Base() + " AS " + name + ForceKey(t) + " WHERE " + rows + " LIMIT " + strconv.Itoa(many+1) + " FOR UPDATE"
	return "IF((SELECT COUNT(*) FROM (" + locked + ") AS " + lockedRows + ") >= 0, " + noSlot(t, "("+slots+") LIMIT 1") + ", FALSE)"
}

// noSlot fails where one of some slots is there. It locks, because under READ COMMITTED it would otherwise look at
// the moment before the statement got its row.
func noSlot(t *catalog.Table, which string) string {
	return "(SELECT 18446744073709551615 + (1 + 0 * " + catalog.PrivateName + "." + sqltext.Quote(t.SlotCol) + ") FROM " + t.Slots() + " AS " + catalog.PrivateName +
		" FORCE INDEX (PRIMARY) WHERE " + which + " LOCK IN SHARE MODE) IS NULL"
}
