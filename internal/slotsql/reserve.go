package slotsql

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// LockReserved locks a reserved row of a key, if nobody has, and reads the units that it holds, and
// times, "" for none.
func LockReserved(t *catalog.Table, k catalog.Key, slot int, c *catalog.Column, times []string) string {
	read := ""
	for _, at := range times {
		read += ", CAST(CAST(" + cmp.Or(at, "NULL") + " AS DATETIME(6)) AS CHAR)"
	}
	return "SELECT CAST(" + sqltext.Quote(c.Name) + " AS CHAR)" + read + " FROM " + t.Slots() + " FORCE INDEX (PRIMARY) WHERE " + oneSlot(t, k, slot) + " FOR UPDATE SKIP LOCKED"
}

// privateValues is the alias of rows of values that slots are joined with.
const privateValues = "countermysql_v"

// ReservedOf selects the keys and numbers of the reserved slots of rows.
func ReservedOf(t *catalog.Table, name, from, where string) string {
	slot := catalog.PrivateName + "." + sqltext.Quote(t.SlotCol)
	var cols []string
	on := []string{slot + " >= " + strconv.Itoa(catalog.FirstReserved)}
	for i, k := range t.Key {
		cols = append(cols, fmt.Sprintf("%s.%s AS k%d", name, sqltext.Quote(k.Name), i))
		on = append(on, fmt.Sprintf("%s.%s = %s.k%d", catalog.PrivateName, sqltext.Quote(k.Name), privateValues, i))
	}
	return "SELECT " + t.Key.Select(catalog.PrivateName) + ", " + slot + " FROM (SELECT " + strings.Join(cols, ", ") + " FROM " + from + " WHERE " + where + ") AS " + privateValues +
		" STRAIGHT_JOIN " + t.Slots() + " AS " + catalog.PrivateName + " FORCE INDEX (PRIMARY) ON " + strings.Join(on, " AND ")
}

// UnitsOf reads what reserved rows of a key have of a counter, by their slots' numbers.
func UnitsOf(t *catalog.Table, k catalog.Key, c *catalog.Column) string {
	slot := sqltext.Quote(t.SlotCol)
	return "SELECT " + slot + ", CAST(" + sqltext.Quote(c.Name) + " AS CHAR) FROM " + t.Slots() + " WHERE " + WhereAnyOrAll(t, []catalog.Key{k}, t.Slots()) + " AND " + slot + " > " + strconv.Itoa(catalog.FirstReserved)
}

// HasUnits finds a base row that has so many by itself.
func HasUnits(t *catalog.Table, k catalog.Key, c *catalog.Column, units int64) string {
	name := t.Ref()
	return "SELECT 1 FROM " + t.Base() + " WHERE " + t.Key.Where(k, name) + " AND " + name + "." + sqltext.Quote(c.Name) + " >= " + strconv.FormatInt(units, 10)
}

// TakeReserved adds an entry to the reserved row that its transaction has locked.
func TakeReserved(t *catalog.Table, e *RowIncrement) string {
	return "UPDATE " + t.Slots() + " FORCE INDEX (PRIMARY) SET " + e.Adds(t, t.Slots()) + " WHERE " + oneSlot(t, e.Key, e.Slot)
}

// FillReserved sets what some reserved rows of a key hold of a counter, which makes those that
// are not there.
func FillReserved(t *catalog.Table, k catalog.Key, c *catalog.Column, slots []int, units int64) string {
	cols := append(catalog.QuoteNames(t.Key), sqltext.Quote(t.SlotCol), sqltext.Quote(c.Name))
	key := ""
	for i, of := range t.Key {
		key += of.Constant(k[i]) + ", "
	}
	rows := make([]string, len(slots))
	for i, slot := range slots {
		rows[i] = "(" + key + strconv.Itoa(slot) + ", " + strconv.FormatInt(units, 10) + ")"
	}
	return "INSERT INTO " + t.Slots() + " (" + strings.Join(cols, ", ") + ") VALUES " + strings.Join(rows, ", ") +
		" ON DUPLICATE KEY UPDATE " + sqltext.Quote(c.Name) + " = VALUES(" + sqltext.Quote(c.Name) + ")"
}

// LockSlots locks slots of a key, each by its full primary key: by a list of their numbers both
// servers scan a small table, and lock it all.
func LockSlots(t *catalog.Table, k catalog.Key, slots []string) string {
	rows := make([]SlotRow, len(slots))
	for i, slot := range slots {
		rows[i] = SlotRow{Key: k, Slot: slot}
	}
	values, join := byFullKey(t, rows)
	return "SELECT " + t.Slots() + "." + sqltext.Quote(t.SlotCol) + " FROM " + values + join + " FOR UPDATE"
}

// EmptySlots sets rows to what they are without an increment, which hold what was read.
func EmptySlots(t *catalog.Table, rows []SlotRow) string {
	values, join := byFullKey(t, rows)
	var sets []string
	for _, c := range t.Counters {
		sets = append(sets, t.Slots()+"."+sqltext.Quote(c.Name)+" = 0")
	}
	for _, c := range t.Touch { // of a row that may be another soon
		sets = append(sets, t.Slots()+"."+sqltext.Quote(c.Name)+" = NULL")
	}
	return "UPDATE " + values + join + " SET " + strings.Join(sets, ", ")
}

// DeleteSlots deletes rows that hold what was read.
func DeleteSlots(t *catalog.Table, rows []SlotRow) string {
	values, join := byFullKey(t, rows)
	return "DELETE " + t.Slots() + " FROM " + values + join
}

// byFullKey joins slots, by their full primary keys, to values: those of their amounts that are
// known. The slots table goes by its own name: a DELETE by an alias needs a default database (1046).
func byFullKey(t *catalog.Table, rows []SlotRow) (values, join string) {
	slots := t.Slots()
	on := []string{slots + "." + sqltext.Quote(t.SlotCol) + " = " + privateValues + ".slot"}
	for i, k := range t.Key {
		on = append(on, fmt.Sprintf("%s.%s = %s.k%d", slots, sqltext.Quote(k.Name), privateValues, i))
	}
	for i := range rows[0].Amounts {
		on = append(on, fmt.Sprintf("%s.%s = %s.c%d", slots, sqltext.Quote(t.Counters[i].Name), privateValues, i))
	}
	for i := range rows[0].Kept {
		on = append(on, fmt.Sprintf("%s.%s <=> %s.u%d", slots, sqltext.Quote(t.Unclaimed[i].Name), privateValues, i))
	}
	selects := make([]string, len(rows))
	for n, s := range rows {
		cols := []string{s.Slot + " AS slot"}
		for i, k := range t.Key {
			cols = append(cols, fmt.Sprintf("%s AS k%d", k.Constant(s.Key[i]), i))
		}
		for i, amount := range s.Amounts {
			cols = append(cols, fmt.Sprintf("%s AS c%d", amount, i))
		}
		for i, amount := range s.Kept {
			cols = append(cols, fmt.Sprintf("%s AS u%d", cmp.Or(amount, "NULL"), i))
		}
		selects[n] = "SELECT " + strings.Join(cols, ", ")
	}
	return "(" + strings.Join(selects, " UNION ALL ") + ") AS " + privateValues,
		" STRAIGHT_JOIN " + slots + " FORCE INDEX (PRIMARY) ON " + strings.Join(on, " AND ")
}

// oneSlot is the condition of one row of a slots table.
func oneSlot(t *catalog.Table, k catalog.Key, slot int) string {
	return WhereAnyOrAll(t, []catalog.Key{k}, t.Slots()) + " AND " + sqltext.Quote(t.SlotCol) + " = " + strconv.Itoa(slot)
}
