package fold

import (
	"context"
	"maps"
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
// with what the transaction has pending for them: after it the base rows say all. asked says
// that it gives rows out. taken is for Between, where it may write rows that were not locked.
func (f *Folder) FoldScopes(ctx context.Context, p *plan.Plan, asked bool, b plan.Binder) (taken Taken, err error) {
	taken = Taken{}
	for _, s := range p.Exactly().Rows {
		keys, err := foldScope(ctx, f, p, s, asked, b)
		if err != nil {
			return nil, err
		}
		if keys != nil && !asked && !p.Once && slices.ContainsFunc(p.Writes, func(w plan.WriteTarget) bool { return w.Table == s.Table }) {
			taken[s.Table] = keys
		}
	}
	return taken, nil
}

// foldScope does so for one scope. It returns the keys whose rows are locked, nil if the statement
// touches no others.
func foldScope(ctx context.Context, f *Folder, p *plan.Plan, s plan.RowSet, asked bool, b plan.Binder) (keys map[string]bool, err error) {
	x := p.Exactly()
	if where, ok := s.Bind(b); ok && (s.Where != nil || s.Keys != nil) && !(x.Moves && p.Once) {
		rows, err := f.LockRows(ctx, s.Table, sqltext.Quote(s.Name), s.Locking(), where)
		switch {
		case err == nil && x.Moves:
			return ids(rows), f.FoldRows(ctx, s.Table, rows)
		case err == nil:
			return nil, f.FoldRows(ctx, s.Table, rows)
		case !mysqlerr.BadValue[mysqlerr.Number(err)]: // as a query says it; the statement itself says what is wrong with it
			return nil, err
		}
	} else if x.Whole || (asked || p.Once) && slices.ContainsFunc(p.Writes, func(w plan.WriteTarget) bool { return w.Table == s.Table && (w.Updates || w.Upserts || p.Once) }) {
		// What it gives out, or puts into variables, could not be taken back to send it again.
		if err := f.LockTable(ctx, s.Table); err != nil {
			return nil, err
		}
	}
	if keys, err = f.FoldTable(ctx, s.Table, p.Writes != nil); err == nil && (p.Writes == nil || asked) {
		err = reveal(ctx, f, s.Table)
	}
	return keys, err
}

// ids are the keys of rows, as [catalog.Key.ID].
func ids(rows []slotsql.LockedRow) map[string]bool {
	keys := map[string]bool{}
	for _, r := range rows {
		keys[r.Key.ID()] = true
	}
	return keys
}

// FoldTable takes every key of a table that has slots or pending increments. For a
// statement that may give rows other keys, slots without a row go too. While the keys
// listed are locked, others may get their first slots, and then a listed one more: so
// it lists again until all that have slots are locked, which is one moment. taken are the
// keys whose rows are locked.
func (f *Folder) FoldTable(ctx context.Context, t *catalog.Table, writes bool) (taken map[string]bool, err error) {
	keys, tried := map[string]catalog.Key{}, map[string]bool{}
	taken = map[string]bool{}
	if x := f.Open(); x.HasPending(t) {
		for id, e := range x.Pending[t.String()].Entries {
			keys[id] = e.Key
		}
	}
	own, err := ownKeys(ctx, f, t, catalog.PrivateName, " FROM "+t.Slots()+" AS "+catalog.PrivateName+" WHERE TRUE")
	if err != nil {
		return nil, err
	}
	for _, k := range own {
		keys[k.ID()] = k
	}
	for {
		found, err := slotted(ctx, f, t)
		if err != nil {
			return nil, err
		}
		for _, k := range found {
			if !tried[k.ID()] {
				keys[k.ID()] = k
			}
		}
		if len(keys) == 0 {
			return taken, nil
		}
		gone, err := f.FoldKeys(ctx, t, keys)
		for batch := range session.Batches(&f.Settings, t, BatchKeys, gone) {
			if err == nil && writes {
				err = f.removeOrphans(ctx, t, slotsql.WhereAnyOrAll(t, batch, t.Slots()))
			}
		}
		if err != nil {
			return nil, err
		}
		for id := range keys {
			tried[id], taken[id] = true, true
		}
		for _, k := range gone { // but may come back
			delete(taken, k.ID())
		}
		clear(keys)
	}
}

// FoldKeys takes the given keys, and returns those that no row has.
func (f *Folder) FoldKeys(ctx context.Context, t *catalog.Table, keys map[string]catalog.Key) (gone []catalog.Key, err error) {
	sorted := slices.SortedFunc(maps.Values(keys), t.Key.Compare)
	for batch := range session.Batches(&f.Settings, t, BatchKeys, sorted) {
		rows, err := f.LockRows(ctx, t, t.Ref(), t.From()+slotsql.ForceKey(t), t.Key.WhereAny(batch, t.Ref()))
		if err != nil {
			return nil, err
		}
		if err := f.FoldRows(ctx, t, rows); err != nil {
			return nil, err
		}
		have := ids(rows)
		absent := slices.DeleteFunc(slices.Clone(batch), func(k catalog.Key) bool { return have[k.ID()] })
		if len(absent)+len(rows) == len(batch) {
			gone = append(gone, absent...)
			continue
		}
		for _, k := range absent { // some row spells one of them otherwise
			spelled, err := f.LockRows(ctx, t, t.Ref(), t.From()+slotsql.ForceKey(t), t.Key.Where(k, t.Ref()))
			if err != nil {
				return nil, err
			}
			if len(spelled) == 0 {
				gone = append(gone, k)
			}
		}
	}
	return gone, nil
}

// FoldTableAlone rolls up every key of a table in a transaction of its own, before a
// statement that can't share one.
func (f *Folder) FoldTableAlone(ctx context.Context, t *catalog.Table) error {
	if f.InTransaction() {
		_, err := f.FoldTable(ctx, t, true)
		return err
	}
	return session.Again(ctx, func() error {
		if err := f.Start(ctx); err != nil {
			return err
		}
		_, err := f.FoldTable(ctx, t, true)
		return f.Finish(ctx, err)
	})
}
