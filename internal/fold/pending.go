package fold

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// ApplyPending takes keys of a table's pending increments, given by their ids, or all.
// An increment whose row is gone goes with it.
func (f *Folder) ApplyPending(ctx context.Context, t *catalog.Table, ids []string) error {
	if err := Follow(ctx, f, t); err != nil {
		return err
	}
	if ids == nil {
		ids = slices.Collect(maps.Keys(f.Transaction().Pending[t.String()].Entries))
	}
	return applyIDs(ctx, f, t, ids)
}

// applyIDs is ApplyPending by the keys that the increments are pending for.
func applyIDs(ctx context.Context, f *Folder, t *catalog.Table, ids []string) error {
	p := f.Transaction().Pending[t.String()]
	keys := map[string]catalog.Key{}
	for _, id := range ids {
		if e := p.Entries[id]; e != nil {
			keys[id] = e.Key
		}
	}
	if _, err := f.FoldKeys(ctx, t, keys); err != nil {
		return err
	}
	for id := range keys { // not before: the transaction may go on after an error
		p.Remove(id)
	}
	return nil
}

// ApplyAll takes every pending increment the exact way, before a statement that
// may end the transaction or not.
func (f *Folder) ApplyAll(ctx context.Context) error {
	x := f.Open()
	if x == nil {
		return nil
	}
	for _, p := range x.Unsent() {
		if err := f.ApplyPending(ctx, p.Table, nil); err != nil {
			return err
		}
	}
	return nil
}

// ApplyEntry adds an entry to its base row, with all slots. What is pending for that key
// besides has been sent or will be.
func (f *Folder) ApplyEntry(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement) error {
	p := f.Transaction().PendingFor(t)
	other := p.Get(e.ID)
	p.Put(e)
	err := applyIDs(ctx, f, t, []string{e.ID})
	if other != nil && other != e {
		p.Put(other)
	}
	return err
}

// showPending adds pending increments to base rows, for a read that may see these. That of one row goes there by itself: its
// slots stay where they are, and the read adds them up. What the row does not take goes the exact way.
func showPending(ctx context.Context, f *Folder, t *catalog.Table, ids []string) error {
	if !showsAlone(f, t) {
		return f.ApplyPending(ctx, t, ids)
	}
	if err := Follow(ctx, f, t); err != nil {
		return err
	}
	p := f.Transaction().Pending[t.String()]
	if ids == nil {
		ids = slices.Collect(maps.Keys(p.Entries))
	}
	if len(ids) != 1 || p.Get(ids[0]) == nil {
		return applyIDs(ctx, f, t, ids)
	}
	done, err := showEntry(ctx, f, t, p.Entries[ids[0]])
	if err == nil && !done {
		err = applyIDs(ctx, f, t, ids)
	}
	if err == nil {
		p.Remove(ids[0])
	}
	return err
}

// showsAlone reports whether base rows of a table may take increments that are then read, with their slots beside. Who reads a row
// that may have a reserve holds that as well, and locks it before the base row.
func showsAlone(f *Folder, t *catalog.Table) bool {
	if !f.Settings.Strict || t.Cluster || t.Fed || len(t.Key) == 0 || len(f.Taken) > 0 {
		return false
	}
	return !catalog.Reservable(t) || f.Level() == sqltext.RepeatableRead && !catalog.Reserves(t) && !f.Traffic.Of(t).Slots.Seen(catalog.Clock())
}

// showEntry adds an entry to its base row, if that counts and the key names it alone.
func showEntry(ctx context.Context, f *Folder, t *catalog.Table, e *slotsql.RowIncrement) (done bool, err error) {
	if !e.Counts() || e.Where != "" || e.Slot != 0 {
		return false, nil
	}
	fresh := f.First && !f.Transaction().Inside
	f.First = false // a trigger may read
	further := t.Key.AsKnown(t.Ref(), true)
	for i, col := range t.Counters {
		if col.Nullable && e.Deltas[i] != 0 { // such a row is not written, and with clientFoundRows counted nevertheless
			further = append(further, t.Ref()+"."+sqltext.Quote(col.Name)+" IS NOT NULL")
		}
	}
	affected, err := f.AddToBase(ctx, t, e, further...)
	switch n := mysqlerr.Number(err); {
	case mysqlerr.Beyond[n], mysqlerr.BadValue[n]:
		return false, nil
	case err != nil || affected == 0:
		return false, err
	case affected > 1: // and was one when it was counted
		f.Watcher.NoteChange()
		return false, f.AsDeadlock("the key of a row of " + t.String() + " names several rows meanwhile")
	}
	f.Transaction().WrittenTo(t).Mark(txn.RowOfKey(t, e.Key, fresh))
	return true, nil
}

// AddToBase adds an entry to its base row alone, as where another client has given the key
// another type: none of the slots can be told to be its own. further are conditions besides.
func (f *Folder) AddToBase(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement, further ...string) (affected int64, err error) {
	where := strings.Join(append([]string{t.Key.Where(e.Key, t.Ref())}, further...), " AND ")
	return f.Do(ctx, f.Settings.Unsnapshot()+"UPDATE "+t.Base()+slotsql.ForceKey(t)+" SET "+e.Adds(t, t.Ref())+" WHERE "+where)
}
