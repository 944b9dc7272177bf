package fold

import (
	"context"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/txn"
)

// RemembersLocked reports whether the open transaction remembers what the slots of rows come to that it
// has locked: not where it has added some itself, or a procedure may have, which others do not see.
func RemembersLocked(f *Folder, t *catalog.Table) bool {
	if !f.InTransaction() || f.Locks || !catalog.LockKeepsSlots(t) {
		return false
	}
	x := f.Transaction()
	return !x.Inside && !x.HasPending(t)
}

// HasLocked reports whether the open transaction has locked the row of a key, and knows of its slots; free is
// true if there are none.
func HasLocked(f *Folder, t *catalog.Table, key *plan.KeyValue, b plan.Binder) (free, locked bool) {
	_, sums, locked := lockedRow(f, t, key, b)
	return locked && sums == nil, locked
}

// lockedRow is what it remembers of the row of a key, by the key.
func lockedRow(f *Folder, t *catalog.Table, key *plan.KeyValue, b plan.Binder) (k catalog.Key, sums map[string]string, locked bool) {
	if k, ok := rememberable(f, t, key, b); ok {
		sums, locked = f.Transaction().WrittenTo(t).Locked[k.ID()]
		return k, sums, locked
	}
	return nil, nil, false
}

// NoteFree notes that the open transaction has locked the row of a key, which has no slots.
func NoteFree(f *Folder, t *catalog.Table, key *plan.KeyValue, b plan.Binder) {
	if k, ok := rememberable(f, t, key, b); ok {
		f.Transaction().WrittenTo(t).Lock(k.ID(), nil)
	}
}

// rememberable is a key whose row may be remembered.
func rememberable(f *Folder, t *catalog.Table, key *plan.KeyValue, b plan.Binder) (k catalog.Key, ok bool) {
	if key == nil || !RemembersLocked(f, t) || !b.MatchExactly([]plan.KeyValue{*key}) {
		return nil, false
	}
	return key.Key(t, b)
}

// NoteLocked looks for slots of a row that the open transaction has locked, and remembers what they come to.
// free is true if there are none.
func NoteLocked(ctx context.Context, f *Folder, t *catalog.Table, row slotsql.LockedRow, asKnown bool) (free bool, err error) {
	w, id := f.Transaction().WrittenTo(t), row.Key.ID()
	if w.IsFree(id) {
		return true, nil
	}
	if err := f.StillKnown(ctx, t, asKnown, []slotsql.LockedRow{row}); err != nil {
		return false, err
	}
	read := txn.RowOfKey(t, row.Key, false)
	if slots := &f.Traffic.Of(t).Slots; !slots.Seen(catalog.Clock()) { // mostly there are none, and it takes half the time to see that
		found, err := f.Outside(ctx, "SELECT 1 FROM "+t.Slots()+" AS "+catalog.PrivateName+" WHERE "+read.Slots+" LIMIT 1")
		if err != nil {
			return false, err
		}
		if read.Free = len(found) == 0; !read.Free {
			slots.See()
		}
	}
	if !read.Free {
		if err := f.sums(ctx, t, &read); err != nil {
			return false, err
		}
	}
	if read.Free {
		read.Sums = nil
	}
	w.Lock(id, read.Sums)
	return read.Free, nil
}

// noteFreeRows notes that locked rows have no slots any more.
func noteFreeRows(f *Folder, t *catalog.Table, rows []slotsql.LockedRow) {
	if !RemembersLocked(f, t) {
		return
	}
	for _, r := range rows {
		f.Transaction().WrittenTo(t).Lock(r.Key.ID(), nil)
	}
}

// lockedSums gives the slots of the row that a query locks as they are, if the open transaction has locked it
// before and knows.
func lockedSums(f *Folder, l *plan.LockedRow, b plan.Binder) (own []slotsql.RowOverride, known bool) {
	if l == nil {
		return nil, false
	}
	k, sums, known := lockedRow(f, l.Table, &l.Key, b)
	if !known {
		return nil, false
	}
	if sums == nil {
		sums = slotsql.NoSums(l.Table)
	}
	return []slotsql.RowOverride{{Where: txn.RowOfKey(l.Table, k, false).Base, Amounts: sums}}, true
}
