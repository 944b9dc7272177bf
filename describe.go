package countermysql

import (
	"context"
	"database/sql"
)

// TableInfo is a table with counters as the driver knows it, for tools.
type TableInfo struct {
	Database, Table string
	SlotsTable      string            // in the same database
	SlotColumn      string            // of the slots table: the number of the slot
	Key             []string          // the key columns of both tables; none for a table of one row
	Counters        []string          // columns; those of the list that are there
	Touch           []string          // columns: times kept per slot, of which the newest counts
	Slots           int               // slots per counter that this process chooses from
	Recount         map[string]string // the queries of TableConfig.Recount, by column
	Derived         map[string]string // the formulas of TableConfig.Derived, by column
	Buffered        Buffered          // of TableConfig, with the defaults filled in; the zero value: it is not
	History         History           // the same
	Reserve         map[string]int    // the reserved rows that keys of counters get when many want them, by column; those that have some
	BucketColumn    string            // of the history table: when an interval begins, in UTC
	Ready           bool              // it can have counters, and its slots table is there and fits
}

// Tables lists the configured tables that exist with at least one of their counters, in the
// order of their names.
func Tables(ctx context.Context, db *sql.DB) ([]TableInfo, error) {
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	s, err := c.watcher.Schema(ctx)
	if err != nil {
		return nil, err
	}
	var all []TableInfo
	for _, t := range s.All() {
		info := TableInfo{
			Database: t.Spec.DB, Table: t.Spec.Name, SlotsTable: t.Spec.SlotsTable, SlotColumn: t.SlotCol, Slots: t.Spec.Slots, Buffered: t.Spec.Buffered, History: t.Spec.History, BucketColumn: t.BucketColumn(),
			Recount: map[string]string{}, Derived: map[string]string{}, Reserve: map[string]int{}, Ready: t.Unfit == nil && t.Missing == "",
		}
		for _, col := range t.Key {
			info.Key = append(info.Key, col.Name)
		}
		for _, col := range t.Counters {
			info.Counters = append(info.Counters, col.Name)
			if query := t.Spec.RecountOf(col); query != "" {
				info.Recount[col.Name] = query
			}
			if n := t.Spec.ReserveOf(col); n > 0 && col.Unreserved(t) == "" {
				info.Reserve[col.Name] = n
			}
			if f := t.Spec.FormulaOf(col); f != nil {
				info.Derived[col.Name] = f.Query()
			}
		}
		for _, col := range t.Touch {
			info.Touch = append(info.Touch, col.Name)
		}
		all = append(all, info)
	}
	return all, nil
}
