package countermysql

import (
	"context"
	"slices"
	"strings"
)

// fold adds the slots and pending increments of locked rows to their base rows.
// The locks keep everybody from the slots, so what a look-up connection sees of
// them stays true; only what was read is taken away.
func (c *conn) fold(ctx context.Context, t *table, rows []lockedRow) error {
	for batch := range slices.Chunk(rows, c.several(t, foldBatch, eachOf(rows, lockedRow.keyOf))) {
		keys := make([]key, len(batch))
		for i, r := range batch {
			keys[i] = r.key
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

func (c *conn) foldBatch(ctx context.Context, t *table, rows []lockedRow, found map[string][]slotRow) error {
	var w *written
	if c.inTransaction() {
		w = c.transaction().writtenTo(t)
		for id, slots := range found { // by their own key too: the row's may be spelled otherwise now
			found[id] = slices.DeleteFunc(slots, func(s slotRow) bool { return w.taken.get(id) || w.taken.get(s.key.id()) })
		}
	}
	before, err := c.snapshotTotals(ctx, t, rows, found)
	if err != nil {
		return err
	}
	f := folding{t: t, strict: c.session.strict, before: before, whens: make([][]string, len(t.counters)+len(t.touch))}
	if c.discarding != nil {
		f.discards = c.discarding.counters
	}
	for _, r := range rows {
		if err := f.add(r, found[r.key.id()], c.pendingOf(t, r.key)); err != nil {
			return err
		}
	}
	if f.folded == nil {
		return nil
	}
	if t.unfolded {
		return &UnfitError{t.String(), t.degraded}
	}
	if f.stands != nil {
		if err := c.stand(ctx, &f); err != nil {
			return err
		}
	}
	if update := f.updateSQL(); update != "" {
		if _, err := c.do(ctx, c.unsnapshot()+update); err != nil {
			return err
		}
	}
	if err := c.removeSlots(ctx, t, f.gone); err != nil {
		if c.inTransaction() {
			_ = c.raw.Close() // or the application might commit what is folded by half
		}
		return err
	}
	for _, row := range f.folded { // not before: a statement may fail, and the transaction go on
		c.noteFolded(t, row)
	}
	if w != nil {
		for _, s := range f.gone { // their key may be spelled otherwise
			w.taken.set(s.key.id(), true)
		}
	}
	return nil
}

// folding is the UPDATE that adds slots and pending increments to locked rows.
type folding struct {
	t      *table
	strict bool
	before map[string][]string // see snapshotTotals

	discards []*column // see discarding
	stands   []string  // the conditions of rows with stand-ins
	stood    *column

	rows   []string    // the conditions of those that it changes
	whens  [][]string  // WHEN … THEN …, by column
	gone   []slotRow   // what is added
	folded []foldedRow // to which rows
}

// add folds a row, if there is anything to fold.
func (f *folding) add(r lockedRow, slots []slotRow, e *entry) error {
	if len(slots) == 0 && e == nil {
		return nil
	}
	t, name := f.t, f.t.ref()
	where := t.where(r.key, name)
	was := f.before[r.key.id()]
	if e != nil {
		was = nil // the application has written the row, and sees it as it is
	}
	var vain map[string]string
	looksAs := func(col *column, sql string) {
		if vain == nil {
			vain = t.noAmounts()
		}
		vain[col.name] = sql
	}
	for i, col := range t.counters {
		if r.counters[i] == "" {
			continue // NULL has no slots that count
		}
		total, err := col.total(r.counters[i], i, slots, e, f.strict)
		if !col.integer() && !col.decimal() {
			total, err = col.totalOfFloat(name, i, slots, e)
			was = nil
		}
		if errorNumber(err) == errDataRange && slices.Contains(f.discards, col) {
			total, err = col.standIn(r.counters[i], i, slots, e)
			f.stood, f.stands = col, append(f.stands, "("+where+" AND "+name+"."+quoteIdent(col.name)+" = "+total+")")
		}
		if err != nil {
			return err
		}
		f.whens[i] = append(f.whens[i], " WHEN "+where+" THEN "+total)
		if was != nil && was[i] != total {
			looksAs(col, was[i]+" - ("+total+")")
		}
	}
	for i, col := range t.touch {
		newest := newestTouch(i, slots, e)
		if newest == "" {
			continue
		}
		at := len(t.counters) + i
		f.whens[at] = append(f.whens[at], " WHEN "+where+" THEN "+later(name+"."+quoteIdent(col.name), newest))
		if was != nil {
			looksAs(col, col.time(was[at]))
		}
	}
	f.rows = append(f.rows, "("+where+")")
	f.gone = append(f.gone, slots...)
	f.folded = append(f.folded, foldedRow{r.key, vain})
	return nil
}

// updateSQL is "" where all counters are NULL, which get nothing.
func (f *folding) updateSQL() string {
	t := f.t
	var assignments []string
	for i, col := range slices.Concat(t.counters, t.touch) {
		ref := t.ref() + "." + quoteIdent(col.name)
		if f.whens[i] != nil {
			assignments = append(assignments, ref+" = CASE"+strings.Join(f.whens[i], "")+" ELSE "+ref+" END")
		} else if col.onUpdate {
			assignments = append(assignments, ref+" = "+ref) // or the server sets it to now
		}
	}
	if assignments == nil {
		return ""
	}
	update := "UPDATE " + t.from() + t.forceKey() + " SET " + strings.Join(assignments, ", ") + " WHERE " + strings.Join(f.rows, " OR ")
	if len(t.key) == 0 {
		update += " LIMIT 1" // sql_safe_updates asks for it
	}
	return update
}

// pendingOf is what the transaction has pending for a key.
func (c *conn) pendingOf(t *table, k key) *entry {
	if c.tx == nil || c.tx.pending[t.String()] == nil {
		return nil
	}
	return c.tx.pending[t.String()].entries.get(k.id())
}

// foldedRow is a row whose slots and pending increments are gone, and whose base
// row says all.
type foldedRow struct {
	key  key
	vain map[string]string
}

// noteFolded remembers it in the transaction.
func (c *conn) noteFolded(t *table, f foldedRow) {
	if !c.inTransaction() {
		return
	}
	if p := c.transaction().pending[t.String()]; p != nil {
		p.entries.remove(f.key.id())
	}
	w := c.transaction().writtenTo(t)
	row := writtenRow{base: t.where(f.key, quoteIdent(t.spec.name)), slots: t.where(f.key, privateName), sums: t.noSums()}
	for i := range w.rows {
		w.rows[i].sums = nil // the same row may be noted by another of its keys
	}
	w.mark(row)
	w.taken.set(f.key.id(), true)
	c.tx.rolledUp = append(c.tx.rolledUp, rolledUp{w, row.base, f.vain})
}

// newestTouch is the SQL of the latest time that the slots and the pending
// increments of a row have for touch column i; "" if none.
func newestTouch(i int, slots []slotRow, e *entry) string {
	newest := ""
	for _, s := range slots {
		newest = max(newest, s.touch[i])
	}
	if newest != "" {
		newest = "CAST('" + newest + "' AS DATETIME(6))"
	}
	if e != nil && e.touch[i] != "" {
		at := "CAST(" + e.touch[i] + " AS DATETIME(6))"
		if newest == "" {
			return at
		}
		return "GREATEST(" + newest + ", " + at + ")"
	}
	return newest
}
