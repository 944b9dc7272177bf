package fold

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/txn"
)

// FoldRows adds the slots and pending increments of locked rows to their base rows.
// The locks keep everybody from the slots, so what a look-up connection sees of
// them stays true; only what was read is taken away.
func (f *Folder) FoldRows(ctx context.Context, t *catalog.Table, rows []slotsql.LockedRow) error {
	for batch := range session.Batches(&f.Settings, t, BatchKeys, rows) {
		found, err := f.Reserved(t).toFold(ctx, catalog.KeysOf(batch))
		if err != nil {
			return err
		}
		if err := f.FoldSlots(ctx, t, batch, found); err != nil {
			return err
		}
		noteFreeRows(f, t, batch)
	}
	return nil
}

func (f *Folder) FoldSlots(ctx context.Context, t *catalog.Table, rows []slotsql.LockedRow, found map[string][]slotsql.SlotRow) error {
	var w *txn.WriteSet
	if f.InTransaction() {
		w = f.Transaction().WrittenTo(t)
		for id, slots := range found { // by their own key too: the row's may be spelled otherwise now
			found[id] = slices.DeleteFunc(slots, func(s slotsql.SlotRow) bool { return !s.Offset && (w.Folded[id] || w.Folded[s.Key.ID()]) })
		}
	}
	folding := slotsql.NewFolding(t)
	folding.Strict = f.Settings.Strict
	if f.discarding != nil {
		folding.Discards = f.discarding.Counters
	}
	for _, r := range rows {
		if err := folding.Add(r, found[r.Key.ID()], f.pendingOf(t, r.Key)); err != nil {
			return err
		}
	}
	if folding.Folded == nil {
		return nil
	}
	if t.Unfolded {
		return &catalog.UnfitError{Table: t.String(), Reasons: t.Degraded}
	}
	if folding.Stands != nil {
		if err := f.stand(ctx, folding); err != nil {
			return err
		}
	}
	if err := updateRows(ctx, f, folding); err != nil {
		return err
	}
	if err := f.Reserved(t).remove(ctx, folding.Gone); err != nil {
		loseHalf(f, err)
		return err
	}
	for _, row := range folding.Folded { // not before: a statement may fail, and the transaction go on
		f.noteFolded(t, row)
	}
	if w != nil {
		for _, s := range folding.Gone { // their key may be spelled otherwise
			w.Fold(s.Key.ID())
		}
	}
	return nil
}

// updateRows changes the base rows. In strict mode the server refuses to write a zero date again, of a row that others touch
// and this one does not.
func updateRows(ctx context.Context, f *Folder, folding *slotsql.Folding) error {
	update := folding.Update()
	if update == "" {
		return nil
	}
	_, err := f.Do(ctx, f.Settings.Unsnapshot()+update)
	if mysqlerr.Number(err) != mysqlerr.ErrBadTime {
		return err
	}
	for i, update := range folding.UpdatesByTouch() {
		if _, err := f.Do(ctx, f.Settings.Unsnapshot()+update); err != nil {
			if i > 0 {
				loseHalf(f, err)
			}
			return err
		}
	}
	return nil
}

// loseHalf gives a transaction up that has folded by half, or the application might commit that.
func loseHalf(f *Folder, err error) {
	if f.InTransaction() && !f.RollsUp {
		f.Lose(err)
	}
}

// pendingOf is what the transaction has pending for a key.
func (f *Folder) pendingOf(t *catalog.Table, k catalog.Key) *slotsql.RowIncrement {
	if f.Tx == nil {
		return nil
	}
	return f.Tx.Pending[t.String()].Get(k.ID())
}

// noteFolded remembers it in the transaction. A base row to which the slots have added
// nothing was not written: a snapshot shows it as of then, without them.
func (f *Folder) noteFolded(t *catalog.Table, folding slotsql.FoldedRow) {
	if !f.InTransaction() {
		return
	}
	if p := f.Transaction().Pending[t.String()]; p != nil {
		p.Remove(folding.Key.ID())
	}
	w := f.Transaction().WrittenTo(t)
	w.ForgetSums() // the same row may be noted by another of its keys
	if folding.Written {
		row := txn.RowOfKey(t, folding.Key, false)
		row.Sums = slotsql.NoSums(t)
		w.Mark(row)
	} else {
		w.SetUnbounded()
	}
	w.Fold(folding.Key.ID())
}
