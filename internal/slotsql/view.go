package slotsql

import (
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

func OwnIncrement(t *catalog.Table, e *RowIncrement) RowOverride {
	k := RowOverride{Where: t.Key.Where(e.Key, sqltext.Quote(t.Spec.Name)), Amounts: map[string]string{}}
	for i, col := range t.Counters {
		if e.Deltas[i] != 0 {
			k.Amounts[col.Name] = col.FormatUnits(e.Deltas[i])
		}
	}
	for i, col := range t.Touch {
		if e.Touch[i] != "" {
			k.Amounts[col.Name] = "CAST(" + e.Touch[i] + " AS " + col.Moments() + ")"
		}
	}
	return k
}

// NoSums are the sums of no slots.
func NoSums(t *catalog.Table) map[string]string {
	sums := map[string]string{}
	for _, col := range t.Counters {
		sums[col.Name] = "0"
	}
	for _, col := range t.Touch {
		sums[col.Name] = "NULL"
	}
	return sums
}

// ReadView is how a transaction sees a table: what its own writes and its old
// snapshot change in the sum of base row and slots.
type ReadView struct {
	Locks   string        // read base rows and slots as they are now, and lock the base rows so
	Own     []RowOverride // rows the transaction has written: their slots, as they are now
	Pending []RowOverride // increments not sent yet
	Fresh   bool          // it has written rows, none of which has other slots now than in its snapshot: where there are any, Own is to tell them
}

// RowOverride gives amounts for the rows that a condition selects.
type RowOverride struct {
	Where   string            // on the base table
	Amounts map[string]string // by column name: SQL
}

// View is the base table as the application sees it: a derived table with some of the
// same columns, whose counters are sums.
func View(t *catalog.Table, s ReadView, hints string, cols []*catalog.Column) string {
	var b strings.Builder
	b.WriteString("(SELECT ")
	for i, c := range cols {
		if i > 0 {
			b.WriteString(", ")
		}
		if t.Virtual(c.Name) {
			b.WriteString(TotalOf(t, c, t.Spec.Name, s) + " AS ")
		}
		b.WriteString(sqltext.Quote(c.Name))
	}
	b.WriteString(" FROM " + t.Base() + hints)
	if s.Locks != "" {
		b.WriteString(" " + s.Locks)
	}
	b.WriteString(")")
	return b.String()
}

// TotalOf is the value of a counter or touch column of the current row, where the query calls the
// base table name.
func TotalOf(t *catalog.Table, c *catalog.Column, name string, s ReadView) string {
	base := sqltext.Qualified(name, c.Name)
	of := catalog.PrivateName + "." + sqltext.Quote(c.Name)
	if t.Counter(c.Name) == nil {
		newest := cases(s.Own, c, "(SELECT MAX("+of+")"+fromSlots(t, name, s)+")")
		return catalog.Later(base, catalog.Later(cases(s.Pending, c, "NULL"), newest))
	}
	total := base + " + " + cases(s.Own, c, sumOfSlots(t, c, name, s))
	if s.Pending != nil {
		total += " + " + cases(s.Pending, c, "0")
	}
	return cast(c, total)
}

func sumOfSlots(t *catalog.Table, c *catalog.Column, name string, s ReadView) string {
	return Finished("(SELECT COALESCE(SUM("+catalog.PrivateName+"."+sqltext.Quote(c.Name)+"), 0)"+fromSlots(t, name, s)+")", "LENGTH("+sqltext.Qualified(name, c.Name)+")")
}

// Sum is what base row and slots add up to, in no type that could cut it: an UNSIGNED counter
// that is to be corrected may have come to less than nothing.
func Sum(t *catalog.Table, c *catalog.Column) string {
	return sqltext.Qualified(t.Spec.Name, c.Name) + " + " + sumOfSlots(t, c, t.Spec.Name, ReadView{})
}

// Finished is a subquery that always has a number, or fails where the server has given it up
// (mysqlerr.AsKilled): after KILL QUERY, or when its time is over, both servers take one for a
// subquery that has found nothing, and may answer with that as if all was well. What fails is
// made of a number of the row's, or it would before it is needed; where that is NULL, so is all.
func Finished(subquery, number string) string {
	return "COALESCE(" + subquery + ", 18446744073709551615 + (" + number + " >= 0), 0)" // which can't be NULL
}

// cast gives a sum, which is a DECIMAL, the counter's kind of number.
func cast(c *catalog.Column, sum string) string {
	switch {
	case c.Decimal():
		return "CAST(" + sum + " AS DECIMAL(65," + strconv.Itoa(c.Scale) + "))"
	case c.Unsigned():
		return "CAST(" + sum + " AS UNSIGNED)"
	}
	return "CAST(" + sum + " AS SIGNED)"
}

// fromSlots selects the slots of the current base row.
func fromSlots(t *catalog.Table, name string, s ReadView) string {
	from := " FROM " + t.Slots() + " AS " + catalog.PrivateName
	if s.Locks != "" && len(t.Key) > 0 { // or all of a small table, and wait for whoever has some of it
		from += " FORCE INDEX (PRIMARY)"
	}
	from += " WHERE "
	if len(t.Key) > 0 {
		from += t.Key.Same(catalog.PrivateName, sqltext.Quote(name)) + " AND "
	}
	from += t.Planned(catalog.PrivateName)
	switch {
	case strings.HasSuffix(s.Locks, "NOWAIT") && catalog.Reserves(t): // somebody may have locked a reserved one
		from += " " + t.NoWait()
	case s.Locks != "":
		from += " " + catalog.ShareMode
	}
	return from
}

// cases chooses by key between the corrections and what holds for all others.
func cases(corrections []RowOverride, c *catalog.Column, otherwise string) string {
	if len(corrections) == 0 {
		return otherwise
	}
	var b strings.Builder
	for _, k := range corrections {
		amount, ok := k.Amounts[c.Name]
		if !ok {
			continue
		}
		b.WriteString(" WHEN " + k.Where + " THEN " + amount)
	}
	if b.Len() == 0 {
		return otherwise
	}
	return "CASE" + b.String() + " ELSE " + otherwise + " END"
}

// WideView is View outside transactions, with all slots grouped once.
func WideView(t *catalog.Table, hints string, cols []*catalog.Column) string {
	g := &Gathered{Table: t, Name: t.Spec.Name}
	return g.view(cols, func() string { return t.Base() + hints + " LEFT JOIN (" + g.Slots() + ") AS " + catalog.PrivateName })
}

// view is the base table as the application sees it, in a join with the sums that it needs.
func (g *Gathered) view(of []*catalog.Column, from func() string) string {
	cols := make([]string, len(of))
	for i, c := range of {
		if cols[i] = sqltext.Qualified(g.Name, c.Name); g.Table.Virtual(c.Name) {
			cols[i] = g.Total(c) + " AS " + sqltext.Quote(c.Name)
		}
	}
	return "(SELECT " + strings.Join(cols, ", ") + " FROM " + from() + " ON " + g.On() + ")"
}
