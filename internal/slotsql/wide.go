package slotsql

import (
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// WideView is View outside transactions, with all slots grouped once.
func WideView(t *catalog.Table, hints string, cols []*catalog.Column) string {
	return joinedView(t, t.Base()+hints+" LEFT JOIN ("+groupedSlots(t, cols)+") AS "+catalog.PrivateName, cols)
}

// groupedSlots sums the slots of each key that has any, as far as some columns need it.
func groupedSlots(t *catalog.Table, cols []*catalog.Column) string {
	sums := catalog.QuoteNames(t.Key)
	for _, c := range cols {
		switch {
		case t.Counter(c.Name) != nil:
			sums = append(sums, "SUM("+sqltext.Quote(c.Name)+") AS "+sqltext.Quote(c.Name))
		case slices.Contains(t.Touch, c):
			sums = append(sums, "MAX("+sqltext.Quote(c.Name)+") AS "+sqltext.Quote(c.Name))
		}
	}
	return "SELECT " + strings.Join(sums, ", ") + " FROM " + t.Slots() + " WHERE " + sqltext.Quote(t.SlotCol) + " IS NOT NULL GROUP BY " + strings.Join(catalog.QuoteNames(t.Key), ", ")
}

// joinedView is a view that joins the base table and sums of its slots.
func joinedView(t *catalog.Table, from string, of []*catalog.Column) string {
	base := sqltext.Quote(t.Spec.Name)
	cols := make([]string, len(of))
	for i, c := range of {
		col, sum := base+"."+sqltext.Quote(c.Name), catalog.PrivateName+"."+sqltext.Quote(c.Name)
		switch {
		case t.Counter(c.Name) != nil:
			cols[i] = cast(c, col+" + COALESCE("+sum+", 0)") + " AS " + sqltext.Quote(c.Name)
		case slices.Contains(t.Touch, c):
			cols[i] = catalog.Later(col, sum) + " AS " + sqltext.Quote(c.Name)
		default:
			cols[i] = col
		}
	}
	return "(SELECT " + strings.Join(cols, ", ") + " FROM " + from + " ON " + t.Key.Same(catalog.PrivateName, base) + ")"
}
