package countermysql

import (
	"context"
	"database/sql"
)

// TableInfo is a table with counters as the driver knows it, for tools.
type TableInfo struct {
	Database, Table string
	SlotsTable      string   // in the same database
	SlotColumn      string   // the number of the slot
	Key             []string // the key columns of both tables; none for a table of one row
	Counters        []string
	Touch           []string // times kept per slot, of which the newest counts
	Slots           int      // slots per counter that this process chooses from
	Recount         map[string]string
	Ready           bool // it can have counters, and its slots table is there
}

// Tables lists the configured tables that exist.
func Tables(ctx context.Context, db *sql.DB) ([]TableInfo, error) {
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	s, err := c.schema(ctx)
	if err != nil {
		return nil, err
	}
	var all []TableInfo
	for _, t := range s.all() {
		info := TableInfo{
			Database: t.spec.db, Table: t.spec.name, SlotsTable: t.spec.slotsTable, SlotColumn: t.slotCol, Slots: t.spec.slots,
			Recount: map[string]string{}, Ready: t.unfit == nil && t.missing == "",
		}
		for _, col := range t.key {
			info.Key = append(info.Key, col.name)
		}
		for _, col := range t.counters {
			info.Counters = append(info.Counters, col.name)
			if query := t.spec.recountOf(col); query != "" {
				info.Recount[col.name] = query
			}
		}
		for _, col := range t.touch {
			info.Touch = append(info.Touch, col.name)
		}
		all = append(all, info)
	}
	return all, nil
}
