package fold

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// OpenUpdated has the server use all tables that an UPDATE will use, those with foreign keys to this
// one and those that triggers write too, before rows are locked: DDL of such a table would wait for
// who waits for these rows, and the UPDATE for the DDL
// (https://dev.mysql.com/doc/refman/8.4/en/metadata-locking.html).
func OpenUpdated(ctx context.Context, f *Folder, t *catalog.Table) error {
	counter := sqltext.Quote(t.Counters[0].Name)
	_, err := f.Do(ctx, "UPDATE "+t.Base()+" SET "+counter+" = "+counter+" WHERE FALSE")
	return err
}

// openTriggered does so where triggers may write other tables, and where the user may update.
func openTriggered(ctx context.Context, f *Folder, t *catalog.Table) error {
	if !t.UpdateTriggers {
		return nil
	}
	err := OpenUpdated(ctx, f, t)
	if n := mysqlerr.Number(err); mysqlerr.Denied[n] {
		f.Stats.Unheard(n)
		return nil
	}
	return err
}

// LockRows locks base rows exclusively, behind what they have in reserve. Naming the counters
// makes the server lock the clustered rows, whatever index it goes by.
func (f *Folder) LockRows(ctx context.Context, t *catalog.Table, name, from, where string) ([]slotsql.LockedRow, error) {
	if err := openTriggered(ctx, f, t); err != nil {
		return nil, err
	}
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
	if err := openTriggered(ctx, f, t); err != nil {
		return err
	}
	_, err := f.Read(ctx, f.Settings.Unsnapshot()+"SELECT COUNT("+sqltext.Quote(t.Counters[0].Name)+") FROM "+t.Base()+slotsql.ForceKey(t)+" FOR UPDATE")
	return err
}
