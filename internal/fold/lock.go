package fold

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// LockRows locks base rows exclusively, behind what they have in reserve. Naming the counters
// makes the server lock the clustered rows, whatever index it goes by.
func (f *Folder) LockRows(ctx context.Context, t *catalog.Table, name, from, where string) ([]slotsql.LockedRow, error) {
	if err := f.Reserved(t).lockOf(ctx, name, from, where, "FOR UPDATE"); err != nil {
		return nil, err
	}
	return f.LockRowsAs(ctx, t, name, from, where, "FOR UPDATE")
}

func (f *Folder) LockRowsAs(ctx context.Context, t *catalog.Table, name, from, where, how string) ([]slotsql.LockedRow, error) {
	rows, err := f.Read(ctx, f.Settings.Unsnapshot()+slotsql.LockSQL(t, name, from, where, how))
	if err != nil {
		return nil, err
	}
	locked, asKnown := make([]slotsql.LockedRow, len(rows)), true
	for i, r := range rows {
		k, told := t.Key.Cut(r)
		counters, known := told[:len(t.Counters)], told[len(t.Counters):]
		locked[i], asKnown = slotsql.LockedRow{Key: k, Counters: counters}, asKnown && !slices.Contains(known, "0")
	}
	slices.SortFunc(locked, func(x, y slotsql.LockedRow) int { return t.Key.Compare(x.Key, y.Key) })
	return locked, f.StillKnown(ctx, t, asKnown, locked)
}

// LockTable locks all base rows of a table.
func (f *Folder) LockTable(ctx context.Context, t *catalog.Table) error {
	_, err := f.Read(ctx, f.Settings.Unsnapshot()+"SELECT COUNT("+sqltext.Quote(t.Counters[0].Name)+") FROM "+t.Base()+slotsql.ForceKey(t)+" FOR UPDATE")
	return err
}
