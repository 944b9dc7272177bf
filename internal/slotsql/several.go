package slotsql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// AtRows is the UPDATE that adds all entries, which touch the same columns, to their base rows; to none, if
// one is missing, has become NULL, was touched later, or does not meet the rest of its condition. It waits
// for none of the rows: they are locked in a subquery, a constant to the server, which LIMIT keeps from merging
// (https://dev.mysql.com/doc/refman/8.4/en/derived-table-optimization.html), and which asks for
// counters, so that the rows are locked and not only entries of another index. (Joined to a derived
// table of the entries, it took up to twice as long.)
func (u *Upsert) AtRows() string {
	t, name := u.Table, sqltext.Quote(u.Name)
	used, touched := u.Used()
	from := t.Base() + " AS " + name + ForceKey(t)
	theirs := " WHERE (" + t.Key.WhereAny(catalog.KeysOf(u.Entries), name) + ")"
	there := t.Key.AsKnown(name, true)
	var sets, read []string
	for _, i := range used {
		c := t.Counters[i]
		column := name + "." + sqltext.Quote(c.Name)
		sets = append(sets, column+" = "+column+" + "+u.ofEach("0", func(e *RowIncrement) string {
			if e.Deltas[i] == 0 {
				return ""
			}
			return c.FormatUnits(e.Deltas[i])
		}))
		read, there = append(read, column), append(there, column+" IS NOT NULL")
	}
	for _, i := range touched {
		column := name + "." + sqltext.Quote(t.Touch[i].Name)
		at := "CAST(" + u.ofEach("NULL", func(e *RowIncrement) string { return e.Touch[i] }) + " AS " + t.Touch[i].Moments() + ")"
		sets = append(sets, column+" = "+at)
		there = append(there, "("+column+" IS NULL OR "+column+" <= "+at+")")
	}
	if slices.ContainsFunc(u.Entries, func(e *RowIncrement) bool { return e.Rest != "" }) {
		there = append(there, u.ofEach("TRUE", func(e *RowIncrement) string {
			if e.Rest == "" {
				return ""
			}
			return e.Where
		}))
	}
	locked := "SELECT " + strings.Join(read, ", ") + " FROM " + from + strings.Join(append([]string{theirs}, there...), " AND ") +
		" LIMIT " + strconv.Itoa(len(u.Entries)+1) + " " + exclusively
	return "UPDATE " + from + " SET " + strings.Join(sets, ", ") + theirs +
		" AND (SELECT COUNT(*) FROM (" + locked + ") AS " + lockedRows + ") = " + strconv.Itoa(len(u.Entries)) + AsPlanned(t)
}

// ofEach is what entries say, by their keys where it is not the same; a text of none is other.
func (u *Upsert) ofEach(other string, of func(*RowIncrement) string) string {
	name, first, same := sqltext.Quote(u.Name), of(u.Entries[0]), true
	var b strings.Builder
	b.WriteString("CASE")
	for _, e := range u.Entries {
		value := of(e)
		if same = same && value == first; value != "" {
			b.WriteString(" WHEN " + u.Table.Key.Where(e.Key, name) + " THEN " + value)
		}
	}
	if same && first != "" {
		return first
	}
	b.WriteString(" ELSE " + other + " END")
	return b.String()
}
