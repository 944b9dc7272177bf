package fold

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// BatchKeys is how many keys are rolled up by one statement.
const BatchKeys = 100

// FoldScopes locks the base rows that a statement needs and rolls up their slots, together
// with what the transaction has pending for them: after it the base rows say all. reads
// says that the statement may show some. What it writes of rows that are not known is taken,
// and none of them locked: NoneBetween is to be asked behind it.
func (f *Folder) FoldScopes(ctx context.Context, x *plan.Exact, writes []plan.WriteTarget, reads bool, b plan.Binder) (taken Taken, err error) {
	taken = Taken{}
	whole := func(t *catalog.Table) error {
		keys, err := takeTable(ctx, f, t, writes != nil)
		if slices.ContainsFunc(writes, func(w plan.WriteTarget) bool { return w.Table == t }) {
			taken[t] = keys
		}
		if err != nil || !reads {
			return err
		}
		return reveal(ctx, f, t)
	}
	for _, s := range x.Rows {
		where, ok := s.Bind(b)
		if !ok || s.Where == nil && s.Keys == nil {
			if x.Whole {
				if err := f.LockTable(ctx, s.Table); err != nil {
					return nil, err
				}
			}
			if err := whole(s.Table); err != nil {
				return nil, err
			}
			continue
		}
		rows, err := f.LockRows(ctx, s.Table, sqltext.Quote(s.Name), s.Locking(), where)
		switch {
		case err == nil:
			err = f.FoldRows(ctx, s.Table, rows)
		case mysqlerr.BadValue[mysqlerr.Number(err)]: // as a query says it; the statement itself says what is wrong with it
			err = whole(s.Table)
		}
		if err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// FoldTable takes every key of a table that has slots or pending increments. For a
// statement that may give rows other keys, slots without a row go too. While the keys
// listed are locked, others may get their first slots, and then a listed one more: so
// it lists again until all that have slots are locked, which is one moment.
func (f *Folder) FoldTable(ctx context.Context, t *catalog.Table, writes bool) error {
	_, err := takeTable(ctx, f, t, writes)
	return err
}

func takeTable(ctx context.Context, f *Folder, t *catalog.Table, writes bool) (taken map[string]bool, err error) {
	keys := map[string]catalog.Key{}
	taken = map[string]bool{}
	if x := f.Open(); x.HasPending(t) {
		for id, e := range x.Pending[t.String()].Entries {
			keys[id] = e.Key
		}
	}
	for {
		found, err := slotted(ctx, f, t)
		if err != nil {
			return nil, err
		}
		for _, k := range found {
			if !taken[k.ID()] {
				keys[k.ID()] = k
			}
		}
		if len(keys) == 0 {
			return taken, nil
		}
		gone, err := f.FoldKeys(ctx, t, keys)
		for batch := range slices.Chunk(gone, f.Settings.Several(t, BatchKeys, slices.Values(gone))) {
			if err == nil && writes {
				err = f.removeOrphans(ctx, t, slotsql.WhereAnyOrAll(t, batch, t.Slots()))
			}
		}
		if err != nil {
			return nil, err
		}
		for id := range keys {
			taken[id] = true
		}
		clear(keys)
	}
}

// FoldKeys takes the given keys, and returns those that no row has.
func (f *Folder) FoldKeys(ctx context.Context, t *catalog.Table, keys map[string]catalog.Key) (gone []catalog.Key, err error) {
	var sorted []catalog.Key
	for _, k := range keys {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, t.Key.Compare)
	for batch := range slices.Chunk(sorted, f.Settings.Several(t, BatchKeys, slices.Values(sorted))) {
		rows, err := f.LockRows(ctx, t, t.Ref(), t.From()+slotsql.ForceKey(t), t.Key.WhereAny(batch, t.Ref()))
		if err != nil {
			return nil, err
		}
		if err := f.FoldRows(ctx, t, rows); err != nil {
			return nil, err
		}
		if len(rows) < len(batch) { // a key may be spelled otherwise in its row, which is then left alone
			gone = append(gone, batch...)
		}
	}
	return gone, nil
}

// FoldTableAlone rolls up every key of a table in a transaction of its own, before a
// statement that can't share one.
func (f *Folder) FoldTableAlone(ctx context.Context, t *catalog.Table) error {
	if f.InTransaction() {
		return f.FoldTable(ctx, t, true)
	}
	return session.Again(ctx, func() error {
		if err := f.Start(ctx); err != nil {
			return err
		}
		return f.Finish(ctx, f.FoldTable(ctx, t, true))
	})
}
