package slotsql

import (
	"slices"
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
