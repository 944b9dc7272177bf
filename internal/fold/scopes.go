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
// with what the transaction has pending for them: after it the base rows say all. writes
// says that the statement is no mere query.
func (f *Folder) FoldScopes(ctx context.Context, x *plan.Exact, writes bool, b plan.Binder) error {
	for _, s := range x.Rows {
		where, ok := s.Bind(b)
		if !ok || s.Where == nil && s.Keys == nil {
			if x.Whole {
				if err := f.LockTable(ctx, s.Table); err != nil {
					return err
				}
			}
			if err := f.foldAll(ctx, s.Table, writes); err != nil {
				return err
			}
			continue
		}
		rows, err := f.LockRows(ctx, s.Table, sqltext.Quote(s.Name), s.From(), where)
		switch {
		case err == nil:
			err = f.FoldRows(ctx, s.Table, rows)
		case mysqlerr.BadValue[mysqlerr.Number(err)]: // as a query says it; the statement itself says what is wrong with it
			err = f.foldAll(ctx, s.Table, writes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// foldAll is FoldTable for a statement, which is a mere query unless it writes.
func (f *Folder) foldAll(ctx context.Context, t *catalog.Table, writes bool) error {
	if err := f.FoldTable(ctx, t, writes); err != nil || writes {
		return err
	}
	return f.reveal(ctx, t)
}

// reveal has the transaction see as they are now the rows that have slots in its snapshot and were
// rolled up by others since: as of the snapshot they lack those. It sees what it has written itself.
func (f *Folder) reveal(ctx context.Context, t *catalog.Table) error {
	if !f.InTransaction() || f.Level() != sqltext.RepeatableRead {
		return nil
	}
	seen, err := f.LockRowsAs(ctx, t, t.Ref(), slotsql.WithSlots(t), "TRUE", "")
	if err != nil {
		return err
	}
	for then := range slices.Chunk(seen, f.Settings.Several(t, BatchKeys, session.EachOf(seen, slotsql.LockedRow.KeyOf))) {
		keys := make([]catalog.Key, len(then))
		for i, r := range then {
			keys[i] = r.Key
		}
		now, err := f.LockRows(ctx, t, t.Ref(), t.From()+slotsql.ForceKey(t), t.Key.WhereAny(keys, t.Ref()))
		if err != nil {
			return err
		}
		if len(now) < len(then) {
			return &catalog.RefusedError{Table: t.String(), What: "a query that needs all in the base rows",
				Reason: "others have deleted rows since the transaction's snapshot, which has them without what was in their slots", Remedy: "let it be the first that reads in its transaction, or use READ COMMITTED"}
		}
		there, back := slotsql.NewFolding(t), slotsql.NewFolding(t)
		for i, r := range now { // both in the order of their keys
			if !slices.Equal(r.Counters, then[i].Counters) {
				there.Set(then[i])
				back.Set(r)
			}
		}
		for _, folding := range []*slotsql.Folding{there, back} { // an UPDATE that changes nothing makes no version of its own
			if update := folding.UpdateSQL(); update != "" && folding.Folded != nil {
				if _, err := f.Do(ctx, f.Settings.Unsnapshot()+update); err != nil {
					return err
				}
			}
		}
		for _, row := range back.Folded {
			f.noteFolded(t, row)
		}
	}
	return nil
}

// FoldTable takes every key of a table that has slots or pending increments. For a
// statement that may give rows other keys, slots without a row go too. While the keys
// listed are locked, others may get their first slots, and then a listed one more: so
// it lists again until all that have slots are locked, which is one moment.
func (f *Folder) FoldTable(ctx context.Context, t *catalog.Table, writes bool) error {
	keys, taken := map[string]catalog.Key{}, map[string]bool{}
	if x := f.Open(); x.HasPending(t) {
		for id, e := range x.Pending[t.String()].Entries {
			keys[id] = e.Key
		}
	}
	for {
		found, err := f.Outside(ctx, "SELECT DISTINCT "+t.Key.Select(catalog.PrivateName)+" FROM "+t.Slots()+" AS "+catalog.PrivateName)
		if err != nil {
			return err
		}
		for _, r := range found {
			if k := catalog.Key(r[:len(t.Key)]); !taken[k.ID()] {
				keys[k.ID()] = k
			}
		}
		if len(keys) == 0 {
			return nil
		}
		gone, err := f.FoldKeys(ctx, t, keys)
		for batch := range slices.Chunk(gone, f.Settings.Several(t, BatchKeys, slices.Values(gone))) {
			if err == nil && writes {
				err = f.removeOrphans(ctx, t, slotsql.WhereAnyOrAll(t, batch, catalog.PrivateName))
			}
		}
		if err != nil {
			return err
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
