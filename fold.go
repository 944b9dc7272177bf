package countermysql

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// fold adds the slots and pending increments of locked rows to their base rows.
// The locks keep everybody from the slots, so what a look-up connection sees of
// them stays true; only what was read is taken away.
func (c *conn) fold(ctx context.Context, t *catalog.Table, rows []slotsql.LockedRow) error {
	for batch := range slices.Chunk(rows, c.Several(t, foldBatch, session.EachOf(rows, slotsql.LockedRow.KeyOf))) {
		keys := make([]catalog.Key, len(batch))
		for i, r := range batch {
			keys[i] = r.Key
		}
		found, err := c.slotRows(ctx, t, keys, c.Outside)
		if err != nil {
			return err
		}
		if err := c.foldBatch(ctx, t, batch, found); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) foldBatch(ctx context.Context, t *catalog.Table, rows []slotsql.LockedRow, found map[string][]slotsql.SlotRow) error {
	var w *txn.WriteSet
	if c.InTransaction() {
		w = c.Transaction().WrittenTo(t)
		for id, slots := range found { // by their own key too: the row's may be spelled otherwise now
			found[id] = slices.DeleteFunc(slots, func(s slotsql.SlotRow) bool { return w.Folded[id] || w.Folded[s.Key.ID()] })
		}
	}
	f := slotsql.Folding{Table: t, Strict: c.Settings.Strict, Whens: make([][]string, len(t.Counters)+len(t.Touch))}
	if c.discarding != nil {
		f.Discards = c.discarding.Counters
	}
	for _, r := range rows {
		if err := f.Add(r, found[r.Key.ID()], c.pendingOf(t, r.Key)); err != nil {
			return err
		}
	}
	if f.Folded == nil {
		return nil
	}
	if t.Unfolded {
		return &UnfitError{Table: t.String(), Reasons: t.Degraded}
	}
	if f.Stands != nil {
		if err := c.stand(ctx, &f); err != nil {
			return err
		}
	}
	if update := f.UpdateSQL(); update != "" {
		if _, err := c.Do(ctx, c.Unsnapshot()+update); err != nil {
			return err
		}
	}
	if err := c.removeSlots(ctx, t, f.Gone); err != nil {
		if c.InTransaction() {
			_ = c.Raw.Close() // or the application might commit what is folded by half
		}
		return err
	}
	for _, row := range f.Folded { // not before: a statement may fail, and the transaction go on
		c.noteFolded(t, row)
	}
	if w != nil {
		for _, s := range f.Gone { // their key may be spelled otherwise
			w.Fold(s.Key.ID())
		}
	}
	return nil
}

// pendingOf is what the transaction has pending for a key.
func (c *conn) pendingOf(t *catalog.Table, k catalog.Key) *slotsql.RowIncrement {
	if c.Tx == nil {
		return nil
	}
	return c.Tx.Pending[t.String()].Get(k.ID())
}

// noteFolded remembers it in the transaction. A base row to which the slots have added
// nothing was not written: a snapshot shows it as of then, without them.
func (c *conn) noteFolded(t *catalog.Table, f slotsql.FoldedRow) {
	if !c.InTransaction() {
		return
	}
	if p := c.Transaction().Pending[t.String()]; p != nil {
		p.Remove(f.Key.ID())
	}
	w := c.Transaction().WrittenTo(t)
	w.ForgetSums() // the same row may be noted by another of its keys
	if f.Written {
		w.Mark(txn.WrittenRow{Base: t.Where(f.Key, sqltext.Quote(t.Spec.Name)), Slots: t.Where(f.Key, catalog.PrivateName), Sums: slotsql.NoSums(t)})
	} else {
		w.SetUnbounded()
	}
	w.Fold(f.Key.ID())
}
