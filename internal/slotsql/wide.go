package slotsql

import (
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

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
