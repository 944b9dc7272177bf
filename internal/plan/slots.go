package plan

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// PinnedSlots selects the slots of a pinned row.
func PinnedSlots(t *catalog.Table, p KeyValue, b Binder) string {
	if len(p.Columns) == 0 || slices.Equal(p.Columns, t.Key) {
		where, _ := p.Bind(catalog.PrivateName, b)
		return where
	}
	where, _ := p.Bind(t.Spec.Name, b)
	return "EXISTS (SELECT 1 FROM " + t.Base() + " WHERE " + where + " AND " + t.Key.Same(sqltext.Quote(t.Spec.Name), catalog.PrivateName) + ")"
}
