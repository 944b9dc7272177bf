package slotsql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// NewDirectTemplate makes the UPDATE of one base row that conditions call name, where they
// give the key cols. Where a key names two rows since another client has given it another
// type, one of them has a key that the known type does not hold.
//
// MySQL, which can't do without waiting otherwise, locks the row in a subquery, a constant to
// it that it evaluates first; and in that, a derived table may be of the table that is updated
// (https://dev.mysql.com/doc/refman/8.4/en/subquery-restrictions.html).
func NewDirectTemplate(t *catalog.Table, name string, cols []*catalog.Column, used, touched []int, later bool) Template {
	base := sqltext.Quote(name)
	var text templateWriter
	text.WriteString("UPDATE " + t.Base() + " AS " + base + " SET ")
	text.adds(t, used, touched, base+".", base+".")
	text.WriteString(" WHERE (")
	text.cut(holeWhere, 0)
	text.WriteString(")")
	for _, i := range used {
		text.WriteString(" AND " + base + "." + sqltext.Quote(t.Counters[i].Name) + " IS NOT NULL")
	}
	if slices.Equal(cols, t.Key) {
		for _, cond := range t.Key.AsKnown(base, true) {
			text.WriteString(" AND " + cond)
		}
	}
	if later {
		for _, i := range touched {
			col := base + "." + sqltext.Quote(t.Touch[i].Name)
			text.WriteString(" AND (" + col + " IS NULL OR " + col + " <= ")
			text.cut(holeTouch, i)
			text.WriteString(")")
		}
	}
	if !t.MariaDB {
		text.WriteString(" AND (SELECT 1 FROM (SELECT " + base + "." + sqltext.Quote(t.Counters[used[0]].Name) + " FROM " + t.Base() + " AS " + base + " WHERE ")
		text.cut(holeWhere, 0)
		text.WriteString(" LIMIT 1 FOR UPDATE NOWAIT) AS " + PrivateRows + ") IS NOT NULL")
	}
	return text.done()
}

// AsPlanned is one more condition of a statement that names no slots: an error, 1054, where
// another process has made the slots table anew for another key.
func AsPlanned(t *catalog.Table) string {
	return " AND (SELECT " + PrivateRows + "." + sqltext.Quote(t.SlotCol) + " FROM " + t.Slots() + " AS " + PrivateRows + " LIMIT 0) IS NULL"
}

// BaseRow is a base row that a transaction increments.
type BaseRow struct {
	Table     *catalog.Table
	Increment *RowIncrement
	Shared    bool // it is not changed: its increment goes to a slot
}

// DirectRows is the UPDATE of several base rows, in canonical order. It locks all of them
// shared before any exclusively, and whichever others have locked makes it fail instead of
// wait. The two locks are derived tables, which the server reads first, in this order, and
// LIMIT keeps from merging (https://dev.mysql.com/doc/refman/8.4/en/derived-table-optimization.html);
// to MariaDB every lock of the statement is one that fails, and the UPDATE itself the second.
func DirectRows(rows []BaseRow) string {
	var keys, shared, sharedBy, locked, lockedBy, changed, sets, by []string
	for i, r := range rows {
		t, n := r.Table, strconv.Itoa(i)
		lock, row := PrivateRows+"_lock"+n, PrivateRows+"_row"+n
		from, where := t.Base()+" AS "+lock+ForceKey(t), t.Key.Where(r.Increment.Key, lock)
		shared, sharedBy = append(shared, from), append(sharedBy, where)
		if r.Shared {
			continue
		}
		locked, lockedBy = append(locked, from), append(lockedBy, where)
		changed = append(changed, t.Base()+" AS "+row)
		for j, c := range t.Key {
			key := PrivateKey + n + "_" + strconv.Itoa(j)
			keys = append(keys, lock+"."+sqltext.Quote(c.Name)+" AS "+key)
			by = append(by, row+"."+sqltext.Quote(c.Name)+" = "+sharedRows+"."+key)
		}
		by = append(by, t.Key.AsKnown(row, true)...)
		u := &Upsert{Table: t, Entries: []*RowIncrement{r.Increment}}
		used, touched := u.Used()
		for _, j := range used {
			by = append(by, row+"."+sqltext.Quote(t.Counters[j].Name)+" IS NOT NULL")
		}
		var set templateWriter
		set.adds(t, used, touched, row+".", row+".")
		sets = append(sets, string(set.done().Fill(nil, "", "", 0, u)))
	}
	const first = " STRAIGHT_JOIN "
	rowsOf := func(what string, from, where []string, how string) string {
		return "(SELECT " + what + " FROM " + strings.Join(from, first) + " WHERE " + strings.Join(where, " AND ") + " LIMIT 2 " + how + ") AS "
	}
	tables := []string{rowsOf(strings.Join(keys, ", "), shared, sharedBy, rows[0].Table.NoWait()) + sharedRows}
	if !rows[0].Table.MariaDB {
		tables = append(tables, rowsOf("1", locked, lockedBy, "FOR UPDATE NOWAIT")+PrivateRows)
	}
	return "UPDATE " + strings.Join(append(tables, changed...), first) + " SET " + strings.Join(sets, ", ") + " WHERE " + strings.Join(by, " AND ")
}

// sharedRows is the alias of the rows that are locked shared.
const sharedRows = PrivateRows + "_shared"
