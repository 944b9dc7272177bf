package countermysql

import (
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// upsert prepares a statement for entries by the slots table's own key.
func (c *conn) upsert(t *catalog.Table, entries []*slotsql.RowIncrement) *slotsql.Upsert {
	return &slotsql.Upsert{Table: t, Name: t.Spec.Name, Columns: t.Key, Entries: entries, Lock: t.Lock(), Slot: c.slot(t), Insert: c.Insert()}
}

// slot is the slot that the connection writes for a table: one and the same until the
// transaction ends.
func (c *conn) slot(t *catalog.Table) int {
	return c.Leased.Slot(&c.connector.trafficOf(t).leases, c.connector.slotRange, c.Settings.Server, t.Spec.Slots)
}
