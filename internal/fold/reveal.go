package fold

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// reveal has the transaction see as they are now the rows that have slots in its snapshot and were
// rolled up by others since: as of the snapshot they lack those. It sees what it has written itself.
func reveal(ctx context.Context, f *Folder, t *catalog.Table) error {
	if !f.InTransaction() || !f.Begun() || f.Level() != sqltext.RepeatableRead {
		return nil
	}
	seen, err := f.LockRowsAs(ctx, t, t.Ref(), slotsql.WithSlots(t), "TRUE", "")
	if err != nil && mysqlerr.Number(err) != mysqlerr.ErrYounger {
		return err
	}
	for batch := range session.Batches(&f.Settings, t, BatchKeys, seen) {
		then := map[string][]string{}
		for _, r := range batch {
			then[r.Key.ID()] = r.Counters
		}
		now, err := f.LockRows(ctx, t, t.Ref(), t.From()+slotsql.ForceKey(t), t.Key.WhereAny(catalog.KeysOf(batch), t.Ref()))
		if err != nil {
			return err
		}
		if len(now) != len(batch) {
			return notRevealed(t)
		}
		there, back := slotsql.NewFolding(t), slotsql.NewFolding(t)
		for _, r := range now {
			switch counters, known := then[r.Key.ID()]; {
			case !known:
				return notRevealed(t)
			case slices.Equal(r.Counters, counters):
			case t.Degraded != nil:
				return notRevealed(t)
			default:
				there.Set(slotsql.LockedRow{Key: r.Key, Counters: counters})
				back.Set(r)
			}
		}
		if back.Folded == nil {
			continue
		}
		// An UPDATE that changes nothing makes no version of its own.
		_, err = f.Do(ctx, f.Settings.Unsnapshot()+there.Update())
		switch {
		case mysqlerr.Constraint[mysqlerr.Number(err)]:
			return notRevealed(t)
		case err != nil:
			return err
		}
		if _, err := f.Do(context.WithoutCancel(ctx), f.Settings.Unsnapshot()+back.Update()); err != nil {
			f.Lose(err) // or the application might commit what the snapshot has
			return err
		}
		for _, row := range back.Folded {
			f.noteFolded(t, row)
		}
	}
	return nil
}

// notRevealed is for rows that are gone, or have another key, or that nothing but their own statements may change.
func notRevealed(t *catalog.Table) error {
	return &catalog.RefusedError{Table: t.String(), What: "a query that needs all in the base rows",
		Reason: "others have rolled up, deleted or renamed rows since the transaction's snapshot, which lacks what was in their slots", Remedy: "let it be the first that reads in its transaction, or use READ COMMITTED"}
}
