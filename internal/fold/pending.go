package fold

import (
	"context"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// ApplyPending takes keys of a table's pending increments, given by their ids, or all.
// An increment whose row is gone goes with it.
func (f *Folder) ApplyPending(ctx context.Context, t *catalog.Table, ids []string) error {
	p := f.Transaction().Pending[t.String()]
	if ids == nil {
		for id := range p.Entries {
			ids = append(ids, id)
		}
	}
	keys := map[string]catalog.Key{}
	for _, id := range ids {
		if e := p.Entries[id]; e != nil {
			keys[id] = e.Key
		}
	}
	if _, err := f.FoldKeys(ctx, t, keys); err != nil {
		return err
	}
	var left []*slotsql.RowIncrement // their rows are no longer under their keys
	for _, e := range p.Sorted() {
		if keys[e.ID] != nil {
			left = append(left, e)
		}
	}
	for _, e := range left {
		moved, err := f.Relocate(ctx, t, e)
		if err != nil {
			return err
		}
		p.Remove(e.ID) // not before: the transaction may go on after an error
		for _, m := range moved {
			row := map[string]catalog.Key{m.ID: m.Key}
			if p.Entries[m.ID] != nil { // increments by the row's new key
				if _, err := f.FoldKeys(ctx, t, row); err != nil {
					return err
				}
			}
			p.Put(m)
			if _, err := f.FoldKeys(ctx, t, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// ApplyMoved takes the pending increments of rows that others have given another key since: the
// rows that a statement has locked may be among them, and it has to come behind the increments.
func ApplyMoved(ctx context.Context, f *Folder, t *catalog.Table) error {
	if !f.Open().HasPending(t) {
		return nil
	}
	var found []catalog.Key
	for _, e := range f.Tx.Pending[t.String()].Entries {
		if e.Finds != nil && !e.Held {
			found = append(found, e.Key)
		}
	}
	var moved []string
	for batch := range slices.Chunk(found, f.Settings.Several(t, BatchKeys, slices.Values(found))) {
		there, err := f.Outside(ctx, "SELECT "+t.Key.Select(t.Ref())+" FROM "+t.From()+slotsql.ForceKey(t)+" WHERE "+t.Key.WhereAny(batch, t.Ref()))
		if err != nil {
			return err
		}
		for _, k := range without(batch, there) {
			moved = append(moved, k.ID())
		}
	}
	if moved == nil {
		return nil
	}
	return f.ApplyPending(ctx, t, moved)
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
	err := f.ApplyPending(ctx, t, []string{e.ID})
	if other != nil && other != e {
		p.Put(other)
	}
	return err
}

// AddToBase adds an entry to its base row alone, as where another client has given the key
// another type: none of the slots can be told to be its own.
func (f *Folder) AddToBase(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement) (affected int64, err error) {
	name := t.Ref()
	var sets []string
	for i, col := range t.Counters {
		if ref := name + "." + sqltext.Quote(col.Name); e.Deltas[i] != 0 {
			sets = append(sets, ref+" = "+ref+" + "+col.FormatUnits(e.Deltas[i]))
		}
	}
	for i, col := range t.Touch {
		if ref := name + "." + sqltext.Quote(col.Name); e.Touch[i] != "" {
			sets = append(sets, ref+" = "+catalog.Later(ref, "CAST("+e.Touch[i]+" AS DATETIME(6))"))
		}
	}
	return f.Do(ctx, f.Settings.Unsnapshot()+"UPDATE "+t.Base()+slotsql.ForceKey(t)+" SET "+strings.Join(sets, ", ")+" WHERE "+t.Key.Where(e.Key, name))
}

// Relocate looks for the row of an entry that is no longer under its key, by
// each condition that the application found it by, and locks it.
func (f *Folder) Relocate(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement) ([]*slotsql.RowIncrement, error) {
	var moved []*slotsql.RowIncrement
	for _, found := range e.Finds {
		rows, err := lockFound(ctx, f, t, found)
		if err != nil {
			return nil, err
		}
		to, left := make([]catalog.Key, len(rows)), found.Keys
		for i, r := range rows {
			to[i] = r.Key
		}
		if len(found.Keys) > 1 {
			var there [][]string
			for batch := range slices.Chunk(found.Keys, f.Settings.Several(t, plan.SendBatch, slices.Values(found.Keys))) {
				some, err := f.Outside(ctx, "SELECT "+t.Key.Select(t.Ref())+" FROM "+t.Base()+" WHERE "+t.Key.WhereAny(batch, t.Ref()))
				if err != nil {
					return nil, err
				}
				there = append(there, some...)
			}
			left, to = without(found.Keys, there), without(to, found.Keys)
		}
		// Which has gone where can't be told, nor does it matter: each was added the same.
		if i := slices.IndexFunc(left, func(k catalog.Key) bool { return slices.Equal(k, e.Key) }); i >= 0 && i < len(to) {
			moved = append(moved, &slotsql.RowIncrement{ID: to[i].ID(), Key: to[i], Deltas: found.Deltas, Touch: e.Touch})
		}
	}
	return moved, nil
}

// lockFound locks the rows that a locator finds now. A query that waits for a row misses it if it
// gets a lower key meanwhile.
func lockFound(ctx context.Context, f *Folder, t *catalog.Table, found slotsql.Locator) ([]slotsql.LockedRow, error) {
	from := t.Base() + " AS " + sqltext.Quote(found.Name)
	for range session.MaxRetries {
		rows, err := f.LockRows(ctx, t, sqltext.Quote(found.Name), from, found.Where)
		if err != nil || len(rows) > 0 {
			return rows, err
		}
		if there, err := f.Outside(ctx, "SELECT 1 FROM "+from+" WHERE "+found.Where+" LIMIT 1"); err != nil || len(there) == 0 {
			return nil, err
		}
	}
	return nil, f.AsDeadlock("a row of " + t.String() + " gets one key after the other")
}

// without leaves out some keys.
func without[K ~[]string](keys []catalog.Key, out []K) []catalog.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k catalog.Key) bool {
		return slices.ContainsFunc(out, func(o K) bool { return slices.Equal([]string(o), []string(k)) })
	})
}
