package fold

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// SweepOrphans removes slots left under the keys that an INSERT names: their rows were
// deleted by a cascade or another client. A row that somebody has locked may be about
// to go: then it waits, as the INSERT would.
func (f *Folder) SweepOrphans(ctx context.Context, p *plan.Plan, b plan.Binder) error {
	t, where, named := p.Sweep.Table, "TRUE", false
	if keys := p.Sweep.Keys; keys != nil {
		if s, ok := plan.BindKeys(keys, t.Spec.SlotsTable, b); ok {
			where, named = s, true
		}
	}
	some, waits := slotsql.Orphans(t, where), named && !t.Galera // see [catalog.Table.NoWait]
	if waits {
		some = " FROM " + t.Slots() + " WHERE (" + where + ") AND NOT EXISTS (SELECT 1 FROM " + t.Base() +
			" AS " + catalog.PrivateBase + " WHERE " + t.Key.Same(catalog.PrivateBase, t.Slots()) + " " + t.SkipLocked() + ")"
	}
	own, err := ownKeys(ctx, f, t, t.Slots(), slotsql.Orphans(t, where)) // in the rows as the transaction has them
	if err != nil {
		return err
	}
	if f.InTransaction() && f.Transaction().WrittenTo(t).Unbounded { // others do not see which rows it has deleted
		if !named {
			if rows, err := f.Outside(ctx, "SELECT 1 FROM "+t.Slots()+" LIMIT 1"); err != nil || len(rows) == 0 && len(own) == 0 {
				return err
			}
			return f.removeOrphans(ctx, t, where)
		}
		some = " FROM " + t.Slots() + " WHERE " + where
	}
	found, err := f.Outside(ctx, "SELECT DISTINCT "+t.Key.Select(t.Slots())+some)
	if err != nil {
		return err
	}
	keys := t.Key.KeysOfRows(found)
	keys = append(without(own, keys), keys...)
	slices.SortFunc(keys, t.Key.Compare)
	for batch := range session.Batches(&f.Settings, t, plan.SendBatch, keys) { // and not all at once, which would lock all slots
		if waits {
			lock := catalog.ShareMode
			if p.Exactly() != nil { // it changes the row: with a shared lock, those who wait here would then wait for each other
				lock = "FOR UPDATE"
			}
			// By the key, and of a counter, as all that locks rows: else it may be a scan, which locks others.
			there, err := f.Read(ctx, f.Settings.Unsnapshot()+"SELECT "+sqltext.Quote(t.Counters[0].Name)+" FROM "+t.Base()+slotsql.ForceKey(t)+" WHERE "+t.Key.WhereAny(batch, sqltext.Quote(t.Spec.Name))+" "+lock)
			if err != nil {
				return err
			}
			if len(there) == len(batch) { // nothing is left over: others go on with those slots
				continue
			}
		}
		if err := f.removeOrphans(ctx, t, t.Key.WhereAny(batch, t.Slots())); err != nil {
			return err
		}
	}
	return nil
}

func (f *Folder) removeOrphans(ctx context.Context, t *catalog.Table, where string) error {
	n, err := f.Do(ctx, f.Settings.UnsafeUpdates()+"DELETE "+t.Slots()+slotsql.Orphans(t, where))
	if n > 0 && f.InTransaction() {
		f.Transaction().Inside = true // others still see them
	}
	return err
}
