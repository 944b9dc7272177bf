package fold

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Taken are the keys by table, as [catalog.Key.ID], whose slots were rolled up for a statement that
// may write other rows, too: those were not locked before it came to them.
type Taken map[*catalog.Table]map[string]bool

// between is the savepoint in front of such a statement.
const between = "countermysql_between"

// Between sends a statement. Where a row that it has written, or passed by as its counters were in
// part in reserved rows, had got slots after all had been taken, and before it was locked, the
// statement is undone, upon which what it has written stays locked, and sent again when these are
// taken, too.
func Between(ctx context.Context, f *Folder, taken Taken, send func() error) error {
	if len(taken) == 0 {
		return send()
	}
	for range session.MaxRetries {
		if _, err := f.Do(ctx, "SAVEPOINT "+between); err != nil { // what was taken before stays
			return err
		}
		f.Transaction().Save(between)
		late, err := sendUnlessLate(ctx, f, taken, send)
		if f.Tx != nil {
			f.Tx.Release(between, false)
		}
		if err != nil || late == nil {
			return err
		}
		for t, keys := range late {
			gone, err := f.FoldKeys(ctx, t, keys)
			if err != nil {
				return err
			}
			for id := range keys {
				taken[t][id] = true
			}
			if gone == nil {
				continue
			}
			// What others still see the transaction had deleted before. The rest they may bring back.
			if there, ok := f.Elsewhere(ctx, "SELECT "+t.Key.Select(t.Ref())+" FROM "+t.From()+" WHERE "+slotsql.WhereAnyOrAll(t, gone, t.Ref())); ok {
				for _, k := range without(gone, t.Key.KeysOfRows(there)) {
					delete(taken[t], k.ID())
				}
			}
		}
	}
	return f.AsDeadlock("others go on to increment rows that the statement writes")
}

// NoneMoved fails, as by a deadlock, where a routine, which can't be sent again, has given another
// key to a row that had got slots after all had been taken, or has deleted it: what they hold would be lost.
func NoneMoved(ctx context.Context, f *Folder, taken Taken) error {
	for t, keys := range taken {
		late, err := lateKeys(ctx, f, t, keys)
		if err != nil {
			return err
		}
		for batch := range session.Batches(&f.Settings, t, BatchKeys, late) {
			switch _, moved, err := locked(ctx, f, t, batch); {
			case err != nil:
				return err
			case len(moved) > 0:
				return f.AsDeadlock("others have incremented rows of " + t.String() + " that a routine has moved")
			}
		}
	}
	return nil
}

// sendUnlessLate sends the statement, and undoes it if there are rows to be taken before.
func sendUnlessLate(ctx context.Context, f *Folder, taken Taken, send func() error) (map[*catalog.Table]map[string]catalog.Key, error) {
	if err := send(); err != nil {
		return nil, err
	}
	late, err := overtaken(ctx, f, taken)
	if err == nil && late == nil || f.Open() == nil {
		return nil, err
	}
	if _, rerr := f.Do(context.WithoutCancel(ctx), "ROLLBACK TO SAVEPOINT "+between); rerr != nil {
		f.Lose(rerr) // or the application might commit what is not known to be right
		return nil, rerr
	}
	f.Tx.RollbackTo(between)
	return late, err
}

// overtaken are the rows that have got slots since and that the statement has written, as the transaction
// has locked them exclusively, or may have passed by for these.
func overtaken(ctx context.Context, f *Folder, taken Taken) (late map[*catalog.Table]map[string]catalog.Key, err error) {
	for t, keys := range taken {
		slotted, err := lateKeys(ctx, f, t, keys)
		if err != nil {
			return nil, err
		}
		for batch := range session.Batches(&f.Settings, t, BatchKeys, slotted) {
			own, moved, err := locked(ctx, f, t, batch)
			if err != nil {
				return nil, err
			}
			gave, err := filled(ctx, f, t, batch)
			if err != nil {
				return nil, err
			}
			for _, k := range slices.Concat(own, moved, gave) {
				if late == nil {
					late = map[*catalog.Table]map[string]catalog.Key{}
				}
				if late[t] == nil {
					late[t] = map[string]catalog.Key{}
				}
				late[t][k.ID()] = k
			}
		}
	}
	return late, nil
}

// filled are those of some keys that have reserved rows, where a statement keeps no row locked that has not met its
// condition: without what they hold the base row may not have met it. Increments only add, and so it is as before them.
func filled(ctx context.Context, f *Folder, t *catalog.Table, keys []catalog.Key) ([]catalog.Key, error) {
	if !catalog.Reserves(t) || f.LocksGaps() {
		return nil, nil
	}
	found, err := f.Outside(ctx, slotsql.KeysOfReserved(t, keys))
	return t.Key.KeysOfRows(found), err
}

// lateKeys are those that have slots, and were not taken.
func lateKeys(ctx context.Context, f *Folder, t *catalog.Table, taken map[string]bool) ([]catalog.Key, error) {
	late, err := slotted(ctx, f, t)
	folded := f.Transaction().WrittenTo(t).Folded // before, which others do not see
	return slices.DeleteFunc(late, func(k catalog.Key) bool { return taken[k.ID()] || folded[k.ID()] }), err
}

// slotted are the keys that have slots, as others see them.
func slotted(ctx context.Context, f *Folder, t *catalog.Table) (keys []catalog.Key, err error) {
	found, err := f.Outside(ctx, slotsql.KeysOfSlots(t))
	return t.Key.KeysOfRows(found), err
}

// locked are those of some keys whose rows the transaction has locked exclusively: others can't lock
// them, and it can, or, where it has itself given them another key, or deleted them, does not find
// them any more.
func locked(ctx context.Context, f *Folder, t *catalog.Table, keys []catalog.Key) (own, moved []catalog.Key, err error) {
	from, where := t.From()+slotsql.ForceKey(t), slotsql.WhereAnyOrAll(t, keys, t.Ref())
	visible := "SELECT " + t.Key.Select(t.Ref()) + " FROM " + from + " WHERE "
	rows := keys
	if there, ok := f.Elsewhere(ctx, visible+where); ok {
		free, _ := f.Elsewhere(ctx, slotsql.LockSQL(t, t.Ref(), from, where, t.SkipLocked()))
		rows = without(t.Key.KeysOfRows(there), t.Key.KeysOfRows(free))
	}
	if len(rows) == 0 {
		return nil, nil, nil
	}
	where = slotsql.WhereAnyOrAll(t, rows, t.Ref())
	held, err := f.LockRowsAs(ctx, t, t.Ref(), from, where, "FOR UPDATE SKIP LOCKED")
	if err != nil {
		return nil, nil, err
	}
	own = catalog.KeysOf(held)
	if moved = without(rows, own); len(moved) == 0 || f.Level() == sqltext.Serializable { // where to look would be to wait
		return own, moved, nil
	}
	there, err := f.Read(ctx, visible+slotsql.WhereAnyOrAll(t, moved, t.Ref()))
	return own, without(moved, t.Key.KeysOfRows(there)), err
}
