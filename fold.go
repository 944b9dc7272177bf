package countermysql

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// fold adds the slots and pending increments of locked rows to their base rows.
// The locks keep everybody from the slots, so what a look-up connection sees of
// them stays true; only what was read is taken away.
func (c *conn) fold(ctx context.Context, t *catalog.Table, rows []slotsql.LockedRow) error {
	for batch := range slices.Chunk(rows, c.several(t, foldBatch, eachOf(rows, slotsql.LockedRow.KeyOf))) {
		keys := make([]catalog.Key, len(batch))
		for i, r := range batch {
			keys[i] = r.Key
		}
		found, err := c.slotRows(ctx, t, keys, c.outside)
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
	var w *written
	if c.inTransaction() {
		w = c.transaction().writtenTo(t)
		for id, slots := range found { // by their own key too: the row's may be spelled otherwise now
			found[id] = slices.DeleteFunc(slots, func(s slotsql.SlotRow) bool { return w.taken[id] || w.taken[s.Key.ID()] })
		}
	}
	f := slotsql.Folding{Table: t, Strict: c.session.strict, Whens: make([][]string, len(t.Counters)+len(t.Touch))}
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
		return &UnfitError{t.String(), t.Degraded}
	}
	if f.Stands != nil {
		if err := c.stand(ctx, &f); err != nil {
			return err
		}
	}
	if update := f.UpdateSQL(); update != "" {
		if _, err := c.do(ctx, c.unsnapshot()+update); err != nil {
			return err
		}
	}
	if err := c.removeSlots(ctx, t, f.Gone); err != nil {
		if c.inTransaction() {
			_ = c.raw.Close() // or the application might commit what is folded by half
		}
		return err
	}
	for _, row := range f.Folded { // not before: a statement may fail, and the transaction go on
		c.noteFolded(t, row)
	}
	if w != nil {
		for _, s := range f.Gone { // their key may be spelled otherwise
			w.take(s.Key.ID())
		}
	}
	return nil
}

// pendingOf is what the transaction has pending for a key.
func (c *conn) pendingOf(t *catalog.Table, k catalog.Key) *slotsql.RowIncrement {
	if c.tx == nil {
		return nil
	}
	return c.tx.pending[t.String()].get(k.ID())
}

// noteFolded remembers it in the transaction. A base row to which the slots have added
// nothing was not written: a snapshot shows it as of then, without them.
func (c *conn) noteFolded(t *catalog.Table, f slotsql.FoldedRow) {
	if !c.inTransaction() {
		return
	}
	if p := c.transaction().pending[t.String()]; p != nil {
		p.remove(f.Key.ID())
	}
	w := c.transaction().writtenTo(t)
	w.forgetSums() // the same row may be noted by another of its keys
	if f.Written {
		w.mark(writtenRow{base: t.Where(f.Key, sqltext.Quote(t.Spec.Name)), slots: t.Where(f.Key, catalog.PrivateName), sums: slotsql.NoSums(t)})
	} else {
		w.setAny()
	}
	w.take(f.Key.ID())
}
