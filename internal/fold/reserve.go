package fold

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// A reserved row of a key holds units that were taken from the base row. A transaction takes
// them from there under the lock of that row alone, for as long as it is open, so that as many
// take at once as there are rows. So who needs the value of a key has to lock its reserved rows
// as well as its base row: then nobody else has any of either, and what is committed of them
// stays. Before the base row, where they are known: who has taken units may refer to that by a
// foreign key, and wait for it.

// untaken reads the slots of locked rows, of which nobody else takes any until the transaction
// ends. From a row that holds nothing nobody takes, and who fills it has the base row.
func (f Reserved) untaken(ctx context.Context, keys []catalog.Key) (map[string][]slotsql.SlotRow, error) {
	t := f.t
	found, err := f.SlotRows(ctx, t, keys, f.Outside)
	if err != nil || f.Locks || !catalog.KeepsUnits(t) {
		return found, err
	}
	var filled []slotsql.SlotRow
	for id, rows := range found {
		for _, s := range rows {
			switch {
			case !catalog.Reserved(s.Slot):
			case s.Holds():
				filled = append(filled, s)
			case f.HasRow: // whoever comes is to find them before it
				f.Traffic.Of(t).Reserve.Met(id, reservedRows([]string{s.Slot}))
			}
		}
	}
	if filled == nil {
		return found, nil
	}
	if _, err := f.lock(ctx, filled, ""); err != nil {
		return nil, err
	}
	return f.SlotRows(ctx, t, keys, f.Outside)
}

// lock locks reserved rows, each by its full key: where there is none, or in a range, the server
// would lock the place of others. waits is how, NOWAIT say. skipped are the keys of which it has
// not locked all.
func (f Reserved) lock(ctx context.Context, rows []slotsql.SlotRow, waits string) (skipped map[string]bool, err error) {
	t := f.t
	skipped = map[string]bool{}
	slots, keys := map[string][]string{}, map[string]catalog.Key{}
	for _, r := range rows {
		id := r.Key.ID()
		slots[id], keys[id] = append(slots[id], r.Slot), r.Key
	}
	for _, k := range slices.SortedFunc(maps.Values(keys), t.Key.Compare) {
		id := k.ID()
		slices.Sort(slots[id]) // the first one is the gate to all others
		if !f.RollsUp {        // a rollup wants nothing of them: they are to go when nobody does
			f.Traffic.Of(t).Reserve.Met(id, reservedRows(slots[id]))
		}
		f.upset(id)
		locked, err := f.Read(ctx, f.Settings.Unsnapshot()+slotsql.LockSlots(t, k, slots[id])+waits)
		if err != nil {
			return nil, err
		}
		if len(locked) < len(slots[id]) {
			skipped[id] = true
		}
	}
	return skipped, nil
}

// reservedRows is how many rows there may be where these were met.
func reservedRows(slots []string) (rows int) {
	for _, slot := range slots {
		if n, err := strconv.Atoi(slot); err == nil {
			rows = max(rows, min(n-catalog.FirstReserved+1, catalog.ReservedRows(catalog.MaxReserve)))
		}
	}
	return rows
}

// waits finds how a locking clause waits, where that is not as ever. SKIP LOCKED does: a row
// whose reserved rows are locked is not one that is.
var waits = regexp.MustCompile(`(?i) (NOWAIT|WAIT\s+\d+)\s*$`)

// lockOf locks the reserved rows of those rows that are to be locked, by a clause.
func (f Reserved) lockOf(ctx context.Context, name, from, where, clause string) error {
	t := f.t
	if !catalog.Reserves(t) || len(t.Key) == 0 || f.Locks || f.HasRow {
		return nil
	}
	rows, err := f.of(ctx, name, from, where)
	if err != nil {
		return err
	}
	_, err = f.lock(ctx, rows, waits.FindString(clause))
	return err
}

// LockFree locks the reserved rows of those rows that are to be locked, for a rollup: it waits for
// nobody. taking are the keys of which somebody takes, or of whose base row somebody wants units.
// They are to be left: for the moment in which MariaDB skips what is locked it waits for who has
// it, and he may begin to wait for the base row in that moment.
func (f Reserved) LockFree(ctx context.Context, name, from, where string) (taking map[string]bool, err error) {
	if !catalog.Reserves(f.t) || len(f.t.Key) == 0 {
		return nil, nil
	}
	rows, err := f.of(ctx, name, from, where)
	if err != nil {
		return nil, err
	}
	return f.lock(ctx, rows, " SKIP LOCKED")
}

// of are the keys and numbers of the reserved rows that rows have. What is wrong with
// their condition, their own lock says; and what they hold does not depend on it, only who waits
// for whom.
func (f Reserved) of(ctx context.Context, name, from, where string) ([]slotsql.SlotRow, error) {
	t := f.t
	found, err := f.Lookups.QueryAs(ctx, f.Initial.Kin, slotsql.ReservedOf(t, name, from, where))
	if err != nil {
		return nil, ctx.Err()
	}
	rows := make([]slotsql.SlotRow, len(found))
	for i, r := range found {
		k, slot := t.Key.Cut(r)
		rows[i] = slotsql.SlotRow{Key: k, Slot: slot[0]}
	}
	return rows, nil
}

// remove takes away what was folded.
func (f Reserved) remove(ctx context.Context, gone []slotsql.SlotRow) error {
	gone, err := f.empty(ctx, gone)
	if err != nil {
		return err
	}
	return f.RemoveSlots(ctx, f.t, gone)
}

// empty takes what was folded out of reserved rows, which stay: who needs the value is to find
// and lock them before the base row, and not to meet them behind it when they are filled again.
// Those of a key that hold nothing any more are for rollups to delete. It returns the slots that
// are to go.
func (f Reserved) empty(ctx context.Context, gone []slotsql.SlotRow) (rest []slotsql.SlotRow, err error) {
	t := f.t
	if !catalog.KeepsUnits(t) {
		return gone, nil
	}
	var full []slotsql.SlotRow
	reserved, filled := map[string][]slotsql.SlotRow{}, map[string]bool{}
	for _, s := range gone {
		if !catalog.Reserved(s.Slot) {
			rest = append(rest, s)
			continue
		}
		id := s.Key.ID()
		reserved[id] = append(reserved[id], s)
		if s.Holds() || s.Touched() {
			full, filled[id] = append(full, s), true
		}
	}
	for id, rows := range reserved {
		f.Traffic.Of(t).Reserve.Emptied(id)
		if f.RollsUp && (t.Closed || !filled[id] && f.Traffic.Of(t).Reserve.Idle(id)) {
			rest = append(rest, rows...)
			f.Traffic.Of(t).Reserve.Gone(id)
			full = slices.DeleteFunc(full, func(s slotsql.SlotRow) bool { return s.Key.ID() == id })
		}
	}
	return rest, f.drain(ctx, full)
}

// drain has rows hold nothing that a fold takes.
func (f Reserved) drain(ctx context.Context, full []slotsql.SlotRow) error {
	for batch := range slices.Chunk(full, catalog.MaxReserve) {
		n, err := f.Do(ctx, f.Settings.UnsafeUpdates()+slotsql.EmptySlots(f.t, batch))
		if err == nil && n < int64(len(batch)) {
			err = f.AsDeadlock("slots of " + f.t.String() + " have been written although they are locked")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// upset notes that the transaction needs the value of a key that it may have taken units of.
func (f Reserved) upset(id string) {
	t := f.t
	for _, taken := range f.Taken {
		if taken.Of(&f.Traffic.Of(t).Reserve, id) {
			taken.Upset()
		}
	}
}
