package slotsql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Changed leaves out the keys whose counters slots do not change.
func (g *Gathered) Changed() string { return someSum(sqltext.Quote(g.Name)+".", g.Columns) }

// someSum leaves out the groups of slots that add nothing to any counter.
func someSum(of string, counters []*catalog.Column) string {
	conds := make([]string, len(counters))
	for i, c := range counters {
		conds[i] = "SUM(" + of + sqltext.Quote(c.Name) + ") <> 0"
	}
	return " HAVING " + strings.Join(conds, " OR ")
}

// Gathered are the sums of several counters of a table's rows in one derived table, whose
// columns have names that hide none of the user's.
type Gathered struct {
	Table   *catalog.Table
	Name    string            // of the base table in the query
	Cond    string            // on the slots of these keys, with their table called name; "": all
	Columns []*catalog.Column // counters and touch columns
}

// column is the name of a derived column: of key column i, or of cols behind those.
func (g *Gathered) column(i int) string { return "countermysql_" + strconv.Itoa(i) }

// sum is the derived column that adds up c.
func (g *Gathered) sum(c *catalog.Column) string {
	i := slices.Index(g.Columns, c)
	if i < 0 {
		i, g.Columns = len(g.Columns), append(g.Columns, c)
	}
	return catalog.PrivateName + "." + g.column(len(g.Table.Key)+i)
}

// Total is the value of a counter or touch column of a row.
func (g *Gathered) Total(c *catalog.Column) string {
	base := sqltext.Qualified(g.Name, c.Name)
	if g.Table.Counter(c.Name) == nil {
		return catalog.Later(base, g.sum(c))
	}
	return cast(c, base+" + COALESCE("+g.sum(c)+", 0)")
}

// Slots selects the sums that have been asked for.
func (g *Gathered) Slots() string {
	as, cols := sqltext.Quote(g.Name), []string{}
	keys := g.Table.Key.Refs(as)
	for i, key := range keys {
		cols = append(cols, key+" AS "+g.column(i))
	}
	for i, c := range g.Columns {
		sum := "SUM("
		if g.Table.Counter(c.Name) == nil {
			sum = "MAX("
		}
		cols = append(cols, sum+as+"."+sqltext.Quote(c.Name)+") AS "+g.column(len(keys)+i))
	}
	where := g.Table.Planned(as)
	if g.Cond != "" {
		where = "(" + g.Cond + ") AND " + where
	}
	return "SELECT " + strings.Join(cols, ", ") + " FROM " + g.Table.Slots() + " AS " + as + " WHERE " + where + " GROUP BY " + strings.Join(keys, ", ")
}

// On joins the derived table with the base table.
func (g *Gathered) On() string {
	conds := make([]string, len(g.Table.Key))
	for i, c := range g.Table.Key {
		conds[i] = catalog.PrivateName + "." + g.column(i) + " = " + sqltext.Qualified(g.Name, c.Name)
	}
	return strings.Join(conds, " AND ")
}

// Joined is the base table with the sums of its rows.
func (g *Gathered) Joined() string {
	return g.Table.Base() + " AS " + sqltext.Quote(g.Name) + " LEFT JOIN (" + g.Slots() + ") AS " + catalog.PrivateName + " ON " + g.On()
}

// WithSlots is a FROM clause of a table's rows whose slots do not come to nothing.
func WithSlots(t *catalog.Table) string {
	keys, by := "1", ""
	if len(t.Key) > 0 {
		keys = strings.Join(catalog.QuoteNames(t.Key), ", ")
		by = " GROUP BY " + keys
	}
	return "(SELECT " + keys + " FROM " + t.Slots() + " WHERE " + sqltext.Quote(t.SlotCol) + " IS NOT NULL" + by + someSum("", t.Counters) + ") AS " + catalog.PrivateName +
		" STRAIGHT_JOIN " + t.From() + " ON " + t.Key.Same(catalog.PrivateName, t.Ref())
}
