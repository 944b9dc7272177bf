package maintain

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// fewKeys are folded together where an index changes with them: the server waits for who has but entries of that
// locked, with all rows of the fold, and he may want another of them.
const fewKeys = 16

// refusals are how many keys in a row the server may refuse before the rollup ends with the error: then it
// is not the key.
const refusals = 10

// together is how many keys of a table are folded by one transaction, at most.
func together(t *catalog.Table) int {
	if catalog.ChangesIndex(t) {
		return fewKeys
	}
	return fold.BatchKeys
}

// batch rolls up some keys. Rows that are locked are skipped at first, so that
// the rollup never waits while it keeps others waiting, and no deadlock can
// come of it; then each of them is waited for alone.
func (r *rollup) batch(ctx context.Context, keys []catalog.Key) error {
	start := time.Now()
	if len(keys) == 1 {
		err := r.alone(ctx, keys[0])
		r.resize(time.Since(start))
		return err
	}
	taken, err := r.fold(ctx, r.table.Key, keys, "FOR UPDATE SKIP LOCKED")
	if n := mysqlerr.Number(err); err != nil && n == 0 || n == mysqlerr.ErrNoColumn || mysqlerr.Denied[n] {
		return err
	} else if n == mysqlerr.ErrLockWait { // nobody knows for which of them
		r.size = 1
	} else {
		r.resize(time.Since(start))
	}
	gone, err := r.removeGone(ctx, slices.DeleteFunc(slices.Clone(keys), func(k catalog.Key) bool { return taken[k.ID()] }))
	if err != nil {
		return err
	}
	for _, k := range keys {
		if taken[k.ID()] || gone[k.ID()] {
			r.failed = 0
			continue
		}
		if err := r.alone(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// removeGone removes the slots of those keys which have no base rows, and tells which.
func (r *rollup) removeGone(ctx context.Context, keys []catalog.Key) (gone map[string]bool, err error) {
	t, name := r.table, sqltext.Quote(r.table.Spec.Name)
	if len(keys) < 2 || len(t.Key) == 0 {
		return nil, nil
	}
	there, err := r.folder.Read(ctx, "SELECT "+t.Key.Select(name)+" FROM "+t.Base()+slotsql.ForceKey(t)+" WHERE "+t.Key.WhereAny(keys, name))
	if err != nil {
		return nil, err
	}
	exist := map[string]bool{}
	for _, k := range t.Key.KeysOfRows(there) {
		exist[k.ID()] = true
	}
	gone = map[string]bool{}
	r.removeTogether(ctx, slices.DeleteFunc(keys, func(k catalog.Key) bool { return exist[k.ID()] }), gone)
	return gone, nil
}

// removeTogether removes the slots of such keys in one transaction; where somebody is about to insert
// the row of one, or writes its slots, those of each half by themselves. What else is wrong, each key
// tells by itself.
func (r *rollup) removeTogether(ctx context.Context, keys []catalog.Key, gone map[string]bool) {
	if len(keys) < 2 {
		return
	}
	switch removed, err := r.removeOrphans(ctx, keys); {
	case removed:
		for _, k := range keys {
			gone[k.ID()] = true
		}
	case err == nil || mysqlerr.Passing[mysqlerr.Number(err)]:
		half := len(keys) / 2
		r.removeTogether(ctx, keys[:half], gone)
		r.removeTogether(ctx, keys[half:], gone)
	}
}

// resize makes transactions smaller or larger, by how long one has taken.
func (r *rollup) resize(took time.Duration) {
	switch {
	case took > r.maxLock:
		r.size = max(1, r.size/2)
	case took < r.maxLock/2:
		r.size = min(together(r.table), r.size*2)
	}
}

// alone rolls up one key in a transaction of its own.
func (r *rollup) alone(ctx context.Context, k catalog.Key) error {
	for try := 0; ; try++ {
		taken, err := r.fold(ctx, r.table.Key, []catalog.Key{k}, "FOR UPDATE")
		if err == nil && len(taken) == 0 {
			_, err = r.removeOrphans(ctx, []catalog.Key{k})
		}
		switch n := mysqlerr.Number(err); {
		case err == nil:
			r.failed = 0
			return nil
		case n == 0, mysqlerr.Denied[n], // it is not the key
			n == mysqlerr.ErrNoColumn: // the slots table is for another key by now
			return err
		case mysqlerr.Passing[n] && n != mysqlerr.ErrLockWait && try < 3:
		case mysqlerr.Passing[n]:
			r.out.Busy++
			return nil
		default:
			if r.failed++; r.failed >= refusals {
				return err
			}
			reason := err.Error()
			if mysqlerr.Constraint[n] {
				reason += "; change the constraint"
			}
			r.leave(k, reason)
			return nil
		}
	}
}

func (r *rollup) leave(k catalog.Key, reason string) {
	if len(r.out.Left) < maxLeft {
		r.out.Left = append(r.out.Left, Left{r.table.Key.Describe(k), reason})
	}
	r.warn("rollup "+r.table.String(), "countermysql: slots can't be rolled up", "table", r.table.String(), "key", r.table.Key.Describe(k), "reason", reason)
}

// transaction runs f in a transaction of its own. What f counted is void if it fails.
func (r *rollup) transaction(ctx context.Context, f func() error) error {
	before := *r.out
	if err := r.folder.Start(ctx); err != nil {
		return err
	}
	err := r.folder.Finish(ctx, f())
	if err != nil {
		*r.out = before
	}
	return err
}

// fold rolls up those rows, given by keys of cols, which it gets, and returns their
// primary keys.
func (r *rollup) fold(ctx context.Context, cols catalog.KeyColumns, keys []catalog.Key, how string) (map[string]bool, error) {
	c, t := r.folder, r.table
	taken := map[string]bool{}
	var small []tooSmall
	err := r.transaction(ctx, func() error {
		name := sqltext.Quote(t.Spec.Name)
		from, where := t.Base()+slotsql.Force(t, cols), cols.WhereAny(keys, name)
		if err := fold.OpenUpdated(ctx, r.folder, r.table); err != nil {
			return err
		}
		taking, err := c.Reserved(t).LockFree(ctx, name, from, where)
		if err != nil {
			return err
		}
		rows, err := c.LockRowsAs(ctx, t, name, from, where, how)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := r.sameZones(ctx); err != nil {
			return err
		}
		for _, row := range rows {
			taken[row.Key.ID()] = true
		}
		all := len(rows)
		rows = slices.DeleteFunc(rows, func(row slotsql.LockedRow) bool { return taking[row.Key.ID()] })
		r.out.Busy += int64(all - len(rows))
		if len(rows) == 0 {
			return nil
		}
		locked := catalog.KeysOf(rows)
		found, err := c.SlotRows(ctx, t, locked, func(ctx context.Context, query string) ([][]string, error) {
			if t.Fed || catalog.Reserves(t) { // who has written a slot by a trigger, or taken of a reserved one, may be waiting for the row
				return c.Read(ctx, query+" FOR UPDATE SKIP LOCKED")
			}
			return c.Read(ctx, query+" FOR UPDATE")
		})
		if err != nil {
			return err
		}
		var whole []slotsql.LockedRow
		if whole, small, err = r.foldParts(ctx, rows, found); err != nil {
			return err
		}
		if err := c.FoldSlots(ctx, t, whole, found); err != nil || r.correct == nil {
			return err
		}
		return r.correct(ctx, locked)
	})
	if err != nil {
		return nil, err
	}
	for _, s := range small {
		r.leave(s.key, "column "+s.column+" can't hold the counter's value; make the column larger")
	}
	return taken, nil
}

// tooSmall is a column of a row that can't hold the counter's value.
type tooSmall struct {
	key    catalog.Key
	column string
}

// foldParts returns the rows that can hold all of their slots, which are to be folded whole. Of the
// slots of the others it folds what the row can hold.
func (r *rollup) foldParts(ctx context.Context, rows []slotsql.LockedRow, found map[string][]slotsql.SlotRow) (whole []slotsql.LockedRow, small []tooSmall, err error) {
	for _, row := range rows {
		slots := found[row.Key.ID()]
		if slots == nil {
			continue
		}
		column := slotsql.Overflow(r.table, row, slots)
		if column == "" {
			r.out.Keys++
			r.out.Slots += int64(len(slots))
			whole = append(whole, row)
			continue
		}
		switch fits, err := r.fitsWhole(ctx, row); {
		case err != nil:
			return nil, nil, err
		case fits:
			r.out.Busy++
			continue
		}
		if r.correct == nil { // or the row is about to be corrected, and fails if it can't hold that
			small = append(small, tooSmall{row.Key, column})
		}
		if err := r.foldPart(ctx, row, slots); err != nil {
			return nil, nil, err
		}
	}
	return whole, small, nil
}

// fitsWhole reports whether a row can hold all of its slots although not those that could be
// locked: as where one is taken away that another one, which somebody has locked, has added.
func (r *rollup) fitsWhole(ctx context.Context, row slotsql.LockedRow) (bool, error) {
	if !r.table.Fed {
		return false, nil
	}
	all, err := r.folder.SlotRows(ctx, r.table, []catalog.Key{row.Key}, r.folder.Read)
	return slotsql.Overflow(r.table, row, all[row.Key.ID()]) == "", err
}

// removeOrphans removes the slots of rows that do not exist; nothing if one of them does by now. They
// may be inserted meanwhile, so the slots are locked first: who increments a new row
// then waits for them, and sees the row's lock refused here if it is quicker.
func (r *rollup) removeOrphans(ctx context.Context, keys []catalog.Key) (removed bool, err error) {
	c, t := r.folder, catalog.KeepingNothing(r.table)
	if len(t.Key) == 0 {
		return false, nil // the table is empty: the next INSERT clears its slots
	}
	err = r.transaction(ctx, func() error {
		found, err := c.SlotRows(ctx, t, keys, func(ctx context.Context, query string) ([][]string, error) {
			return c.Read(ctx, query+" FOR UPDATE NOWAIT")
		})
		if err != nil {
			return err
		}
		if removed = len(found) == 0; removed {
			return nil
		}
		name := sqltext.Quote(t.Spec.Name)
		rows, err := c.LockRowsAs(ctx, t, name, t.Base()+slotsql.ForceKey(t), t.Key.WhereAny(keys, name), "FOR UPDATE NOWAIT")
		if err != nil || len(rows) > 0 {
			return err // the next rollup takes it
		}
		if err := r.sameZones(ctx); err != nil {
			return err
		}
		gone := slices.Concat(slices.Collect(maps.Values(found))...)
		r.out.Orphans += int64(len(gone))
		removed = true
		return c.RemoveSlots(ctx, t, gone)
	})
	return removed && err == nil, err
}

// sameZones fails where the key is a moment to one of base and slots table and a time of day
// to the other, since another client has altered the base table: no value of it tells, and
// in the rollup's time zone they match otherwise than in an application's. The table is in
// use by the transaction, and stays as it is.
func (r *rollup) sameZones(ctx context.Context) error {
	if !slices.ContainsFunc(r.table.Key, func(c *catalog.Column) bool { return c.DataType == "datetime" || c.DataType == "timestamp" }) {
		return nil
	}
	return r.folder.StillKnown(ctx, r.table, false, nil)
}
