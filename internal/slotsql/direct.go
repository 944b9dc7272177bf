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
	var tp Template
	var text strings.Builder
	cut := func(h hole, i int) {
		tp = append(tp, piece{text.String(), h, i})
		text.Reset()
	}
	text.WriteString("UPDATE " + t.Base() + " AS " + base + " SET ")
	for n, i := range used {
		if n > 0 {
			text.WriteString(", ")
		}
		ref := base + "." + sqltext.Quote(t.Counters[i].Name)
		text.WriteString(ref + " = " + ref + " + ")
		cut(holeDelta, i)
	}
	for _, i := range touched {
		ref := base + "." + sqltext.Quote(t.Touch[i].Name)
		text.WriteString(", " + ref + " = GREATEST(COALESCE(" + ref + ", ")
		cut(holeTouch, i)
		text.WriteString("), ")
		cut(holeTouch, i)
		text.WriteString(")")
	}
	text.WriteString(" WHERE (")
	cut(holeWhere, 0)
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
			cut(holeTouch, i)
			text.WriteString(")")
		}
	}
	if !t.MariaDB {
		text.WriteString(" AND (SELECT 1 FROM (SELECT " + base + "." + sqltext.Quote(t.Counters[used[0]].Name) + " FROM " + t.Base() + " AS " + base + " WHERE ")
		cut(holeWhere, 0)
		text.WriteString(" LIMIT 1 FOR UPDATE NOWAIT) AS " + PrivateRows + ") IS NOT NULL")
	}
	cut(noHole, 0)
	return tp
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
		key, row := PrivateRows+"_s"+n, PrivateRows+"_u"+n
		from := func(alias string) string { return t.Base() + " AS " + alias }
		shared, sharedBy = append(shared, from(key)+ForceKey(t)), append(sharedBy, t.Key.Where(r.Increment.Key, key))
		if r.Shared {
			continue
		}
		locked, lockedBy = append(locked, from(key)+ForceKey(t)), append(lockedBy, t.Key.Where(r.Increment.Key, key))
		changed = append(changed, from(row))
		for j, c := range t.Key {
			name := PrivateKey + n + "_" + strconv.Itoa(j)
			keys = append(keys, key+"."+sqltext.Quote(c.Name)+" AS "+name)
			by = append(by, row+"."+sqltext.Quote(c.Name)+" = "+sharedRows+"."+name)
		}
		by = append(by, t.Key.AsKnown(row, true)...)
		for j, d := range r.Increment.Deltas {
			if d == 0 {
				continue
			}
			c := t.Counters[j]
			ref := row + "." + sqltext.Quote(c.Name)
			sets, by = append(sets, ref+" = "+ref+" + "+c.FormatUnits(d)), append(by, ref+" IS NOT NULL")
		}
		for j, at := range r.Increment.Touch {
			if at != "" {
				ref := row + "." + sqltext.Quote(t.Touch[j].Name)
				sets = append(sets, ref+" = GREATEST(COALESCE("+ref+", "+at+"), "+at+")")
			}
		}
	}
	const first = " STRAIGHT_JOIN "
	lock := func(what string, from, where []string, how string) string {
		return "(SELECT " + what + " FROM " + strings.Join(from, first) + " WHERE " + strings.Join(where, " AND ") + " LIMIT 2 " + how + ") AS "
	}
	tables := []string{lock(strings.Join(keys, ", "), shared, sharedBy, rows[0].Table.NoWait()) + sharedRows}
	if !rows[0].Table.MariaDB {
		tables = append(tables, lock("1", locked, lockedBy, "FOR UPDATE NOWAIT")+PrivateRows)
	}
	return "UPDATE " + strings.Join(append(tables, changed...), first) + " SET " + strings.Join(sets, ", ") + " WHERE " + strings.Join(by, " AND ")
}

// sharedRows is the alias of the rows that are locked shared.
const sharedRows = PrivateRows + "_shared"
