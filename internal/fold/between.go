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

// Between sends a statement. Where a row that it has written had got slots after all had been taken,
// and before it was locked, the statement is undone, upon which the row stays locked, and sent again
// when these are taken, too.
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
				for _, k := range without(gone, keysOf(t, there)) {
					delete(taken[t], k.ID())
				}
			}
		}
	}
	return f.AsDeadlock("others go on to increment rows that the statement writes")
}

// sendUnlessLate sends the statement, and undoes it if there are rows to be taken before.
func sendUnlessLate(ctx context.Context, f *Folder, taken Taken, send func() error) (map[*catalog.Table]map[string]catalog.Key, error) {
	if err := send(); err != nil {
		return nil, err
	}
	late, err := written(ctx, f, taken)
	if err == nil && late == nil || f.Open() == nil {
		return nil, err
	}
	if _, rerr := f.Do(context.WithoutCancel(ctx), "ROLLBACK TO SAVEPOINT "+between); rerr != nil {
		_ = f.Raw.Close() // or the application might commit what is not known to be right
		return nil, rerr
	}
	f.Tx.RollbackTo(between)
	return late, err
}

// written are the rows that have got slots since and that the transaction has locked exclusively.
func written(ctx context.Context, f *Folder, taken Taken) (late map[*catalog.Table]map[string]catalog.Key, err error) {
	for t, keys := range taken {
		slotted, err := slotted(ctx, f, t)
		if err != nil {
			return nil, err
		}
		folded := f.Transaction().WrittenTo(t).Folded // before, which others do not see
		slotted = slices.DeleteFunc(slotted, func(k catalog.Key) bool { return keys[k.ID()] || folded[k.ID()] })
		for batch := range slices.Chunk(slotted, f.Settings.Several(t, BatchKeys, slices.Values(slotted))) {
			own, err := locked(ctx, f, t, batch)
			if err != nil {
				return nil, err
			}
			for _, k := range own {
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

// slotted are the keys that have slots, as others see them.
func slotted(ctx context.Context, f *Folder, t *catalog.Table) (keys []catalog.Key, err error) {
	found, err := f.Outside(ctx, "SELECT DISTINCT "+t.Key.Select(catalog.PrivateName)+" FROM "+t.Slots()+" AS "+catalog.PrivateName)
	return keysOf(t, found), err
}

// locked are those of some keys whose rows the transaction has locked exclusively: others can't lock
// them, and it can. What it has itself given another key, or deleted, it does not find any more.
func locked(ctx context.Context, f *Folder, t *catalog.Table, keys []catalog.Key) ([]catalog.Key, error) {
	from, where := t.From()+slotsql.ForceKey(t), slotsql.WhereAnyOrAll(t, keys, t.Ref())
	visible := "SELECT " + t.Key.Select(t.Ref()) + " FROM " + from + " WHERE "
	rows := keys
	if there, ok := f.Elsewhere(ctx, visible+where); ok {
		free, _ := f.Elsewhere(ctx, slotsql.LockSQL(t, t.Ref(), from, where, t.SkipLocked()))
		rows = without(keysOf(t, there), keysOf(t, free))
	}
	if len(rows) == 0 {
		return nil, nil
	}
	where = slotsql.WhereAnyOrAll(t, rows, t.Ref())
	held, err := f.LockRowsAs(ctx, t, t.Ref(), from, where, "FOR UPDATE SKIP LOCKED")
	if err != nil {
		return nil, err
	}
	own := make([]catalog.Key, len(held))
	for i, r := range held {
		own[i] = r.Key
	}
	if rows = without(rows, own); len(rows) == 0 {
		return own, nil
	}
	if f.Level() != sqltext.Serializable { // where to look would be to wait
		there, err := f.Read(ctx, visible+slotsql.WhereAnyOrAll(t, rows, t.Ref()))
		if err != nil {
			return nil, err
		}
		rows = without(rows, keysOf(t, there))
	}
	return append(own, rows...), nil
}

func keysOf(t *catalog.Table, rows [][]string) (keys []catalog.Key) {
	for _, r := range rows {
		keys = append(keys, catalog.Key(r[:len(t.Key)]))
	}
	return keys
}
