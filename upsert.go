package countermysql

import (
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// upsert prepares a statement for entries by the slots table's own key.
func (c *conn) upsert(t *catalog.Table, entries []*slotsql.RowIncrement) *slotsql.Upsert {
	return &slotsql.Upsert{Table: t, Name: t.Spec.Name, Columns: t.Key, Entries: entries, Lock: t.Lock(), Slot: c.Slot(t), Insert: c.Insert()}
}
