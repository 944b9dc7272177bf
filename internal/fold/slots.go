package fold

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// SlotRows reads the slots of some keys, but for those in which nothing is for a fold. Other keys'
// slots are not looked at, which may be locked. All columns are read, because another process may
// have added a counter since the schema was learned, which would go with its slots.
func (f *Folder) SlotRows(ctx context.Context, t *catalog.Table, keys []catalog.Key, read func(context.Context, string) ([][]string, error)) (map[string][]slotsql.SlotRow, error) {
	rows, err := f.slotRowsWhere(ctx, t, slotsql.WhereAnyOrAll(t, keys, catalog.PrivateName), read)
	if err != nil {
		return nil, err
	}
	found, given := map[string][]slotsql.SlotRow{}, map[string]bool{}
	for _, k := range keys {
		given[k.ID()] = true
	}
	for _, r := range rows {
		id := r.Key.ID()
		if r.Keeps() && !r.Holds() && !r.Touched() {
			continue
		}
		if !given[id] { // another client has spelled the base row's key anew
			if len(keys) > 1 {
				return f.slotRowsOfEach(ctx, t, keys, read)
			}
			id = keys[0].ID()
		}
		found[id] = append(found[id], r)
	}
	return found, nil
}

// slotRowsWhere reads the slots that meet a condition.
func (f *Folder) slotRowsWhere(ctx context.Context, t *catalog.Table, where string, read func(context.Context, string) ([][]string, error)) (found []slotsql.SlotRow, err error) {
	var cols []string
	for _, col := range slices.Concat(t.Counters, t.Touch, t.Unclaimed) {
		cols = append(cols, "CAST("+catalog.PrivateName+"."+sqltext.Quote(col.Name)+" AS CHAR)")
	}
	rows, err := read(ctx, "SELECT "+t.Key.Select(catalog.PrivateName)+", "+catalog.PrivateName+"."+sqltext.Quote(t.SlotCol)+", "+strings.Join(cols, ", ")+
		", "+catalog.PrivateName+".* FROM "+t.Slots()+" AS "+catalog.PrivateName+" FORCE INDEX (PRIMARY) WHERE ("+where+")")
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		k, r := t.Key.Cut(r)
		if len(r) != 1+len(cols)+t.SlotsWidth {
			f.Watcher.NoteChange()
			return nil, ErrOtherSlots
		}
		amounts, times := 1+len(t.Counters), 1+len(t.Counters)+len(t.Touch)
		found = append(found, slotsql.SlotRow{Key: k, Slot: r[0], Amounts: r[1:amounts], Touch: r[amounts:times], Kept: r[times : 1+len(cols)]})
	}
	return found, nil
}

// slotRowsOfEach is SlotRows, key by key: then it is plain whose slots they are.
func (f *Folder) slotRowsOfEach(ctx context.Context, t *catalog.Table, keys []catalog.Key, read func(context.Context, string) ([][]string, error)) (map[string][]slotsql.SlotRow, error) {
	all := map[string][]slotsql.SlotRow{}
	for _, k := range keys {
		found, err := f.SlotRows(ctx, t, []catalog.Key{k}, read)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	return all, nil
}

// RemoveSlots deletes rows of the slots table that were read before, each by its
// full primary key: otherwise both servers scan a small table, and lock it all. One
// that holds something else by now was written by another node of a cluster, which
// the base row's lock does not keep from it: the transaction is rolled back. Those that
// hold what no counter takes stay with that.
func (f *Folder) RemoveSlots(ctx context.Context, t *catalog.Table, gone []slotsql.SlotRow) error {
	offsets, gone := offsetsOf(gone)
	if err := f.Reserved(t).offset(ctx, offsets); err != nil {
		return err
	}
	var kept []slotsql.SlotRow
	if t.Unclaimed != nil {
		for _, s := range gone {
			if s.Keeps() && (s.Holds() || s.Touched()) {
				kept = append(kept, s)
			}
		}
		gone = slices.DeleteFunc(gone, slotsql.SlotRow.Keeps)
	}
	if err := f.Reserved(t).drain(ctx, kept); err != nil {
		return err
	}
	for batch := range session.Batches(&f.Settings, t, plan.SendBatch, gone) {
		n, err := f.Do(ctx, f.Settings.UnsafeUpdates()+slotsql.DeleteSlots(t, batch))
		if err == nil && n < int64(len(batch)) {
			err = f.AsDeadlock("another node of the cluster has written the slots of " + t.String() + " meanwhile")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
