package countermysql

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// foldBatch is how many keys are rolled up by one statement.
const foldBatch = 100

// take locks the base rows of a plan's scopes and rolls up their slots, together
// with what the transaction has pending for them: after it the base rows say all.
func (c *conn) take(ctx context.Context, p *plan.Plan, b plan.Binder) error {
	for _, s := range p.Scopes {
		where, ok := s.Bind(b)
		if !ok || s.Where == nil && s.Pins == nil {
			if p.Whole {
				if err := c.lockWhole(ctx, s.Table); err != nil {
					return err
				}
			}
			if err := c.takeAll(ctx, s.Table, p.Writes != nil); err != nil {
				return err
			}
			continue
		}
		rows, err := c.lock(ctx, s.Table, sqltext.Quote(s.Name), s.From(), where)
		switch {
		case err == nil:
			err = c.fold(ctx, s.Table, rows)
		case mysqlerr.BadValue[mysqlerr.Number(err)]: // as a query says it; the statement itself says what is wrong with it
			err = c.takeAll(ctx, s.Table, p.Writes != nil)
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
func (c *conn) takeAll(ctx context.Context, t *catalog.Table, writes bool) error {
	keys, taken := map[string]catalog.Key{}, map[string]bool{}
	if x := c.Open(); x.HasPending(t) {
		for id, e := range x.Pending[t.String()].Entries {
			keys[id] = e.Key
		}
	}
	for {
		found, err := c.Outside(ctx, "SELECT DISTINCT "+t.SelectKey(catalog.PrivateName)+" FROM "+t.Slots()+" AS "+catalog.PrivateName)
		if err != nil {
			return err
		}
		for _, r := range found {
			if k := catalog.Key(r[:len(t.Key)]); !taken[k.ID()] {
				keys[k.ID()] = k
			}
		}
		if len(keys) == 0 {
			return nil
		}
		gone, err := c.takeKeys(ctx, t, keys)
		for batch := range slices.Chunk(gone, c.Several(t, foldBatch, slices.Values(gone))) {
			if err == nil && writes {
				err = c.removeOrphans(ctx, t, slotsql.WhereAnyOrAll(t, batch, catalog.PrivateName))
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
func (c *conn) takeKeys(ctx context.Context, t *catalog.Table, keys map[string]catalog.Key) (gone []catalog.Key, err error) {
	var sorted []catalog.Key
	for _, k := range keys {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, t.Compare)
	for batch := range slices.Chunk(sorted, c.Several(t, foldBatch, slices.Values(sorted))) {
		rows, err := c.lock(ctx, t, t.Ref(), t.From()+slotsql.ForceKey(t), t.WhereAny(batch, t.Ref()))
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
func (c *conn) apply(ctx context.Context, t *catalog.Table, ids []string) error {
	p := c.Transaction().Pending[t.String()]
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
	if _, err := c.takeKeys(ctx, t, keys); err != nil {
		return err
	}
	var left []*slotsql.RowIncrement // their rows are no longer under their keys
	for _, e := range p.Sorted() {
		if keys[e.ID] != nil {
			left = append(left, e)
		}
	}
	for _, e := range left {
		moved, err := c.findAgain(ctx, t, e)
		if err != nil {
			return err
		}
		p.Remove(e.ID) // not before: the transaction may go on after an error
		for _, m := range moved {
			row := map[string]catalog.Key{m.ID: m.Key}
			if p.Entries[m.ID] != nil { // increments by the row's new key
				if _, err := c.takeKeys(ctx, t, row); err != nil {
					return err
				}
			}
			p.Put(m)
			if _, err := c.takeKeys(ctx, t, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// lock locks base rows exclusively. Naming the counters makes the server lock
// the clustered rows, whatever index it goes by.
func (c *conn) lock(ctx context.Context, t *catalog.Table, name, from, where string) ([]slotsql.LockedRow, error) {
	return c.lockAs(ctx, t, name, from, where, "FOR UPDATE")
}

func (c *conn) lockAs(ctx context.Context, t *catalog.Table, name, from, where, how string) ([]slotsql.LockedRow, error) {
	rows, err := c.Read(ctx, c.Unsnapshot()+slotsql.LockSQL(t, name, from, where, how))
	if err != nil {
		return nil, err
	}
	locked, asKnown := make([]slotsql.LockedRow, len(rows)), true
	for i, r := range rows {
		counters, rest := r[max(len(t.Key), 1):][:len(t.Counters)], r[max(len(t.Key), 1)+len(t.Counters):]
		locked[i], asKnown = slotsql.LockedRow{Key: catalog.Key(r[:len(t.Key)]), Counters: counters}, asKnown && !slices.Contains(rest, "0")
	}
	slices.SortFunc(locked, func(x, y slotsql.LockedRow) int { return t.Compare(x.Key, y.Key) })
	return locked, c.stillKnown(ctx, t, asKnown, locked)
}

// lockWhole locks all base rows of a table.
func (c *conn) lockWhole(ctx context.Context, t *catalog.Table) error {
	_, err := c.Read(ctx, c.Unsnapshot()+"SELECT COUNT("+sqltext.Quote(t.Counters[0].Name)+") FROM "+t.Base()+slotsql.ForceKey(t)+" FOR UPDATE")
	return err
}

// rollUp rolls up every key of a table in a transaction of its own, before a
// statement that can't share one.
func (c *conn) rollUp(ctx context.Context, t *catalog.Table) error {
	if c.InTransaction() {
		return c.takeAll(ctx, t, true)
	}
	return session.Again(ctx, func() error {
		if err := c.Start(ctx); err != nil {
			return err
		}
		return c.Finish(ctx, c.takeAll(ctx, t, true))
	})
}
