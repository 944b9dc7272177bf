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

func (r lockedRow) keyOf() key { return r.key }

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
		for batch := range slices.Chunk(gone, c.several(t, foldBatch, slices.Values(gone))) {
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
	for batch := range slices.Chunk(sorted, c.several(t, foldBatch, slices.Values(sorted))) {
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
			row := map[string]key{m.id: m.key}
			if p.entries.get(m.id) != nil { // increments by the row's new key
				if _, err := c.takeKeys(ctx, t, row); err != nil {
					return err
				}
			}
			p.entries.set(m.id, m)
			if _, err := c.takeKeys(ctx, t, row); err != nil {
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
	locked, asKnown := make([]lockedRow, len(rows)), true
	for i, r := range rows {
		counters, rest := r[max(len(t.key), 1):][:len(t.counters)], r[max(len(t.key), 1)+len(t.counters):]
		locked[i], asKnown = lockedRow{key(r[:len(t.key)]), counters}, asKnown && !slices.Contains(rest, "0")
	}
	slices.SortFunc(locked, func(x, y lockedRow) int { return t.compare(x.key, y.key) })
	return locked, c.stillKnown(ctx, t, asKnown, locked)
}

// lockWhole locks all base rows of a table.
func (c *conn) lockWhole(ctx context.Context, t *table) error {
	_, err := c.read(ctx, c.unsnapshot()+"SELECT COUNT("+quoteIdent(t.counters[0].name)+") FROM "+t.base()+t.forceKey()+" FOR UPDATE")
	return err
}

// lockSQL locks base rows and reads their keys and counters, and last whether the key is one
// of the known type, where it takes the server to tell.
func (t *table) lockSQL(name, from, where, how string) string {
	counters := make([]string, len(t.counters))
	for i, col := range t.counters {
		counters[i] = "CAST(" + name + "." + quoteIdent(col.name) + " AS CHAR)"
	}
	known := ""
	if conds := t.asKnown(name, true); conds != nil {
		known = ", (" + strings.Join(conds, " AND ") + ") IS TRUE"
	}
	return "SELECT " + t.selectKey(name) + ", " + strings.Join(counters, ", ") + known + " FROM " + from + " WHERE " + where + " " + how
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
