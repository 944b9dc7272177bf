package countermysql

import (
	"context"
	"slices"
	"strings"
)

// foldBatch is how many keys are rolled up by one statement.
const foldBatch = 100

// lockedRow is a base row that this transaction has locked exclusively.
type lockedRow struct {
	key      key
	counters []string // "" for NULL
}

// take locks the base rows of a plan's scopes and rolls up their slots, together
// with what the transaction has pending for them: after it the base rows say all.
func (c *conn) take(ctx context.Context, p *plan, b binder) error {
	for _, s := range p.scopes {
		where, ok := s.bind(b)
		if !ok || s.where == nil && s.pins == nil {
			if p.whole {
				if err := c.lockWhole(ctx, s.t); err != nil {
					return err
				}
			}
			if err := c.takeAll(ctx, s.t, p.writes != nil); err != nil {
				return err
			}
			continue
		}
		rows, err := c.lock(ctx, s.t, quoteIdent(s.name), s.from(), where)
		switch {
		case err == nil:
			err = c.fold(ctx, s.t, rows)
		case badValue[errorNumber(err)]: // as a query says it; the statement itself says what is wrong with it
			err = c.takeAll(ctx, s.t, p.writes != nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeAll takes every key of a table that has slots or pending increments. For a
// statement that may give rows other keys, slots without a row go too. While the keys
// listed are locked, others may get their first slots, and then a listed one more: so
// it lists again until all that have slots are locked, which is one moment.
func (c *conn) takeAll(ctx context.Context, t *table, writes bool) error {
	keys, taken := map[string]key{}, map[string]bool{}
	if x := c.open(); x.hasPending(t) {
		for id, e := range x.pending[t.String()].entries.all() {
			keys[id] = e.key
		}
	}
	for {
		found, err := c.outside(ctx, "SELECT DISTINCT "+t.selectKey(privateName)+" FROM "+t.slots()+" AS "+privateName)
		if err != nil {
			return err
		}
		for _, r := range found {
			if k := key(r[:len(t.key)]); !taken[k.id()] {
				keys[k.id()] = k
			}
		}
		if len(keys) == 0 {
			return nil
		}
		gone, err := c.takeKeys(ctx, t, keys)
		for batch := range slices.Chunk(gone, foldBatch) {
			if err == nil && writes {
				err = c.removeOrphans(ctx, t, t.whereAnyOrAll(batch, privateName))
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

// takeKeys takes the given keys, and returns those that no row has.
func (c *conn) takeKeys(ctx context.Context, t *table, keys map[string]key) (gone []key, err error) {
	var sorted []key
	for _, k := range keys {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, t.compare)
	for batch := range slices.Chunk(sorted, foldBatch) {
		rows, err := c.lock(ctx, t, t.ref(), t.from()+t.forceKey(), t.whereAny(batch, t.ref()))
		if err != nil {
			return nil, err
		}
		if err := c.fold(ctx, t, rows); err != nil {
			return nil, err
		}
		if len(rows) < len(batch) { // a key may be spelled otherwise in its row, which is then left alone
			gone = append(gone, batch...)
		}
	}
	return gone, nil
}

// apply takes keys of a table's pending increments, given by their ids, or all.
// An increment whose row is gone goes with it.
func (c *conn) apply(ctx context.Context, t *table, ids []string) error {
	p := c.transaction().pending[t.String()]
	if ids == nil {
		for id := range p.entries.all() {
			ids = append(ids, id)
		}
	}
	keys := map[string]key{}
	for _, id := range ids {
		if e := p.entries.get(id); e != nil {
			keys[id] = e.key
		}
	}
	if _, err := c.takeKeys(ctx, t, keys); err != nil {
		return err
	}
	var left []*entry // their rows are no longer under their keys
	for _, e := range p.sorted() {
		if keys[e.id] != nil {
			left = append(left, e)
		}
	}
	for _, e := range left {
		moved, err := c.findAgain(ctx, t, e)
		if err != nil {
			return err
		}
		p.entries.remove(e.id) // not before: the transaction may go on after an error
		for _, m := range moved {
			p.entries.set(m.id, m)
			if _, err := c.takeKeys(ctx, t, map[string]key{m.key.id(): m.key}); err != nil {
				return err
			}
		}
	}
	return nil
}

// forceKey keeps the optimizer on the table's key: a scan would lock rows that
// nobody asked for.
func (t *table) forceKey() string { return t.force(t.key) }

func (t *table) force(cols []*column) string {
	for _, k := range t.unique {
		if len(k.cols) > 0 && slices.Equal(k.cols, cols) {
			return " FORCE INDEX (" + quoteIdent(k.name) + ")"
		}
	}
	return ""
}

// lock locks base rows exclusively. Naming the counters makes the server lock
// the clustered rows, whatever index it goes by.
func (c *conn) lock(ctx context.Context, t *table, name, from, where string) ([]lockedRow, error) {
	return c.lockAs(ctx, t, name, from, where, "FOR UPDATE")
}

func (c *conn) lockAs(ctx context.Context, t *table, name, from, where, how string) ([]lockedRow, error) {
	rows, err := c.read(ctx, c.unsnapshot()+t.lockSQL(name, from, where, how))
	if err != nil {
		return nil, err
	}
	locked := make([]lockedRow, len(rows))
	for i, r := range rows {
		locked[i] = lockedRow{key(r[:len(t.key)]), r[max(len(t.key), 1):]}
	}
	slices.SortFunc(locked, func(x, y lockedRow) int { return t.compare(x.key, y.key) })
	return locked, nil
}

// lockWhole locks all base rows of a table.
func (c *conn) lockWhole(ctx context.Context, t *table) error {
	_, err := c.read(ctx, c.unsnapshot()+"SELECT COUNT("+quoteIdent(t.counters[0].name)+") FROM "+t.base()+t.forceKey()+" FOR UPDATE")
	return err
}

// lockSQL locks base rows and reads their keys and counters.
func (t *table) lockSQL(name, from, where, how string) string {
	counters := make([]string, len(t.counters))
	for i, col := range t.counters {
		counters[i] = "CAST(" + name + "." + quoteIdent(col.name) + " AS CHAR)"
	}
	return "SELECT " + t.selectKey(name) + ", " + strings.Join(counters, ", ") + " FROM " + from + " WHERE " + where + " " + how
}

// fold adds the slots and pending increments of locked rows to their base rows.
// The locks keep everybody from the slots, so what a look-up connection sees of
// them stays true; only what was read is taken away.
func (c *conn) fold(ctx context.Context, t *table, rows []lockedRow) error {
	for batch := range slices.Chunk(rows, foldBatch) {
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
	var taken *written
	if c.inTransaction() {
		taken = c.transaction().writtenTo(t)
		for id, slots := range found { // by their own key too: the row's may be spelled otherwise now
			found[id] = slices.DeleteFunc(slots, func(s slotRow) bool { return taken.rolledUp.get(id) || taken.rolledUp.get(s.key.id()) })
		}
	}
	before, err := c.snapshotTotals(ctx, t, rows, found)
	if err != nil {
		return err
	}
	f := folding{t: t, strict: c.session.strict, before: before, whens: make([][]string, len(t.counters)+len(t.touch))}
	for _, r := range rows {
		if err := f.add(r, found[r.key.id()], c.pendingOf(t, r.key)); err != nil {
			return err
		}
	}
	if f.folded == nil {
		return nil
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
	if taken != nil {
		for _, s := range f.gone { // their key may be spelled otherwise
			taken.rolledUp.set(s.key.id(), true)
		}
	}
	return nil
}

// folding is the UPDATE that adds slots and pending increments to locked rows.
type folding struct {
	t      *table
	strict bool
	before map[string][]string // see snapshotTotals

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
	w.rolledUp.set(f.key.id(), true)
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

// rollUp rolls up every key of a table in a transaction of its own, before a
// statement that can't share one.
func (c *conn) rollUp(ctx context.Context, t *table) error {
	if c.inTransaction() {
		return c.takeAll(ctx, t, true)
	}
	return again(ctx, func() error {
		if err := c.start(ctx); err != nil {
			return err
		}
		return c.finish(ctx, c.takeAll(ctx, t, true))
	})
}
