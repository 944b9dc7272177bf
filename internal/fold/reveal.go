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
