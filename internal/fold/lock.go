package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// LockRows locks base rows exclusively. Naming the counters makes the server lock
// the clustered rows, whatever index it goes by.
func (f *Folder) LockRows(ctx context.Context, t *catalog.Table, name, from, where string) ([]slotsql.LockedRow, error) {
	return f.LockRowsAs(ctx, t, name, from, where, "FOR UPDATE")
}

func (f *Folder) LockRowsAs(ctx context.Context, t *catalog.Table, name, from, where, how string) ([]slotsql.LockedRow, error) {
	rows, err := f.Read(ctx, f.Unsnapshot()+slotsql.LockSQL(t, name, from, where, how))
	if err != nil {
		return nil, err
	}
	locked, asKnown := make([]slotsql.LockedRow, len(rows)), true
	for i, r := range rows {
		counters, rest := r[max(len(t.Key), 1):][:len(t.Counters)], r[max(len(t.Key), 1)+len(t.Counters):]
		locked[i], asKnown = slotsql.LockedRow{Key: catalog.Key(r[:len(t.Key)]), Counters: counters}, asKnown && !slices.Contains(rest, "0")
	}
	slices.SortFunc(locked, func(x, y slotsql.LockedRow) int { return t.Compare(x.Key, y.Key) })
	return locked, f.StillKnown(ctx, t, asKnown, locked)
}

// LockTable locks all base rows of a table.
func (f *Folder) LockTable(ctx context.Context, t *catalog.Table) error {
	_, err := f.Read(ctx, f.Unsnapshot()+"SELECT COUNT("+sqltext.Quote(t.Counters[0].Name)+") FROM "+t.Base()+slotsql.ForceKey(t)+" FOR UPDATE")
	return err
}

// ErrOtherKey says that the base table's key has got another type than is known.
var ErrOtherKey = fmt.Errorf("%w (another type)", ErrOtherSlots)

// StillKnown fails where rows that are locked have keys of another type than is known, as
// the server or the keys tell. While they are locked nobody changes that.
func (f *Folder) StillKnown(ctx context.Context, t *catalog.Table, asKnown bool, rows []slotsql.LockedRow) error {
	if asKnown && !slices.ContainsFunc(rows, func(r slotsql.LockedRow) bool { return !t.WritesKey(r.Key) }) {
		return nil
	}
	cols, err := f.Lookups.QueryAs(ctx, f.Initial.Kin, "SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = "+
		catalog.Text(t.Spec.DB)+" AND TABLE_NAME = "+catalog.Text(t.Spec.Name))
	if err != nil {
		return err
	}
	for _, k := range t.Key {
		if !slices.ContainsFunc(cols, func(now []string) bool {
			return strings.EqualFold(now[0], k.Name) && now[1] == k.ColumnType && now[2] == k.Collation
		}) {
			f.Watcher.NoteChange()
			return ErrOtherKey
		}
	}
	return nil // a value that its type should not have
}

// ErrOtherSlots says that a slots table has got other columns than are known, or a base
// table other types. Nothing was taken from it.
var ErrOtherSlots = errors.New("countermysql: the key or the slots table has got other columns meanwhile; try again")
