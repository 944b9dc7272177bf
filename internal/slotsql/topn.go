package slotsql

import (
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// WithoutSlots tells the rows of the table called name that have no slots: of few rows
// by a look for each, of all by one look at the slots.
func WithoutSlots(t *catalog.Table, name string, few bool) string {
	as := sqltext.Quote(name)
	if few {
		return "(SELECT 1 FROM " + t.Slots() + " AS " + catalog.PrivateName + " WHERE " + t.Key.Same(catalog.PrivateName, as) + " AND " + t.Planned(catalog.PrivateName) + " LIMIT 1) IS NULL"
	}
	return "(" + strings.Join(t.Key.Refs(as), ", ") + ") NOT IN (SELECT " + strings.Join(t.Key.Refs(catalog.PrivateName), ", ") +
		" FROM " + t.Slots() + " AS " + catalog.PrivateName + " WHERE " + t.Planned(catalog.PrivateName) + ")"
}

// TopView is WideView with no more rows than a query for the first ones needs: those with slots, and the
// rest, which a join may give more than once.
func TopView(t *catalog.Table, name, rest string, several bool, of []*catalog.Column) string {
	g := &Gathered{Table: t, Name: t.Spec.Name}
	return g.view(of, func() string {
		cols := t.Key.Refs(sqltext.Quote(name))
		for _, c := range g.Columns {
			none := "NULL"
			if t.Counter(c.Name) != nil {
				none = "0"
			}
			cols = append(cols, none)
		}
		union := " UNION ALL ("
		if several {
			union = " UNION ("
		}
		return "(" + g.Slots() + union + "SELECT " + strings.Join(cols, ", ") + " " + rest + ")) AS " + catalog.PrivateName + " STRAIGHT_JOIN " + t.Base()
	})
}
