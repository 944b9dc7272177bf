package countermysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

// grouped reports whether the connection's increments may share a transaction
// with those of others: no statement has changed its session.
func (c *conn) grouped() bool {
	return !c.connector.config.NoGroupCommit && !c.changed && !c.altered() && c.next == ""
}

// batch is what one group sends: units of one table whose conditions call it by
// one name and give one of its unique keys.
type batch struct {
	t     *table
	name  string
	cols  []*column
	group group

	slotted slotted
	direct  atomic.Int32 // increments on their way to base rows
}

// together adds a unit to slots in a transaction of its own, which it may share
// with units of its kin.
func (c *conn) together(ctx context.Context, b *batch, u *unit) verdict {
	if v, ok := c.beside(ctx, b, u); ok {
		return v
	}
	return b.group.do(ctx, u, func(units []*unit) sending {
		return c.leading(ctx, units, func(ctx context.Context, c *conn) {
			defer c.unlease()
			if len(units) > 1 && c.ResetSession(ctx) != nil { // dead: nobody else has to suffer from that
				for _, w := range units[1:] {
					w.verdict.again = true
				}
				u.verdict.alone = true
				return
			}
			c.connector.stats.batch(len(units))
			c.sendUnits(ctx, b, units)
		})
	})
}

// beside sends a unit of one cold key to its base row, beside whatever is under way; ok is
// false where it has to go to slots.
func (c *conn) beside(ctx context.Context, b *batch, u *unit) (v verdict, ok bool) {
	if len(u.entries) != 1 {
		return v, false
	}
	defer b.direct.Add(-1)
	if b.direct.Add(1) > maxDirect {
		return v, false
	}
	switch err := c.sendDirect(ctx, b, u.entries[0], true); {
	case errors.Is(err, errRowGone):
		v = verdict{alone: true, gone: true}
	case errors.Is(err, errNotDirect), err != nil && !errors.Is(err, driver.ErrBadConn) && undone(err):
		return v, false
	default:
		v.err = err
	}
	c.connector.stats.batch(1)
	return v, true
}

// unit is one of the connection's.
func (c *conn) unit(parts ...string) *unit {
	u := newUnit(parts...)
	u.kin, u.most = c.initial.kin, min(u.most, c.session.packet/2)
	return u
}

// incrementUnit is a unit of entries.
func (c *conn) incrementUnit(entries []*entry) *unit {
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = e.id
	}
	u := c.unit(parts...)
	u.entries = entries
	return u
}

// sendUnits gives every unit its verdict. What keeps the batch from being sent
// is left out once; if that does not help, each has to go by itself.
func (c *conn) sendUnits(ctx context.Context, b *batch, units []*unit) {
	leader := units[0] // whose connection it is
	for first := true; len(units) > 0; first = false {
		entries := b.merge(units)
		err := c.sendBatch(ctx, b, entries)
		if err == nil {
			return
		}
		failed := units
		switch {
		case errors.Is(err, driver.ErrBadConn): // nothing was sent
			for _, u := range units {
				if u == leader {
					u.verdict.err = err
				} else {
					u.verdict.again = true
				}
			}
			return
		case !undone(err):
			for _, u := range units {
				if u.verdict.err = err; u != leader && ctx.Err() != nil {
					u.verdict.err = mysql.ErrInvalidConn // it is the leader's context that has ended
				}
			}
			return
		case first && len(units) > 1:
			failed = c.culprits(ctx, b, entries, units)
		}
		for _, u := range failed {
			u.verdict.alone = true
			u.verdict.gone = len(entries) == 1 && errors.Is(err, errRowGone)
		}
		units = slices.DeleteFunc(slices.Clone(units), func(u *unit) bool { return u.verdict.alone })
	}
}

// undone reports whether the server has refused or rolled back the statement.
// A connection that broke, or was killed, says nothing about that.
func undone(err error) bool {
	n := errorNumber(err)
	return errors.Is(err, errRowGone) || n != 0 && !uncertain(n)
}

// sendBatch sends merged entries in one statement. It does not wait for a base
// row that somebody has locked: all other counters would wait with it.
func (c *conn) sendBatch(ctx context.Context, b *batch, entries []*entry) error {
	err := c.sendUpsert(ctx, b.statement(c, entries), len(entries) == 1)
	c.unheard(err)
	if err == nil {
		c.connector.slotted(b, entries)
	}
	return err
}

// unheard takes a refusal to wait for a lock out of the statistics: those that
// can't go at once go by themselves.
func (c *conn) unheard(err error) {
	if n := errorNumber(err); n == errLockWait || n == errNoWait {
		c.connector.stats.unheard(n)
	}
}

// statement is that of merged entries.
func (b *batch) statement(c *conn, entries []*entry) string {
	u := b.upsert(c, entries)
	if len(entries) == 1 {
		return u.one()
	}
	return u.many()
}

// waiting is the statement of one caller's entries, which waits for locks.
func (b *batch) waiting(c *conn, entries []*entry) string {
	u := b.upsert(c, entries)
	u.lock = b.t.lock()
	return u.many()
}

func (b *batch) upsert(c *conn, entries []*entry) *upsert {
	u := c.upsert(b.t, entries)
	u.name, u.cols, u.lock, u.later = b.name, b.cols, b.t.noWait(), true
	return u
}

// merge sums the entries of units by key and condition, in canonical order. The
// units keep their own: each may have to go by itself.
func (b *batch) merge(units []*unit) []*entry {
	if len(units) == 1 && len(units[0].entries) == 1 {
		return units[0].entries
	}
	all, at, summed := make([]*entry, 0, len(units)), map[string]int{}, map[int]bool{}
	for _, u := range units {
		for _, e := range u.entries {
			i, known := at[e.id]
			if known {
				b.slotted.meet(e.key)
			}
			if known && !summed[i] {
				all[i], summed[i] = all[i].clone(), true
			}
			if !known || !all[i].add(e) { // the sum leaves 64 bits
				at[e.id] = len(all)
				all = append(all, e)
			}
		}
	}
	if slices.ContainsFunc(all, func(e *entry) bool { return slices.Contains(e.deltas, 0) }) { // perhaps although there were some
		for _, u := range units {
			for _, e := range u.entries {
				all = append(all, all[at[e.id]].apart(e)...)
			}
		}
	}
	slices.SortFunc(all, func(x, y *entry) int { return compareKeys(b.cols, x.key, y.key) })
	return all
}

// apart takes out of a sum what cancels out in it, although e adds to it: the sum gets
// what e adds, and the entries returned take that away. A counter to which the
// statement adds nothing is not looked at, and may be NULL.
func (sum *entry) apart(e *entry) (opposite []*entry) {
	for i, d := range e.deltas {
		if d != 0 && sum.deltas[i] == 0 {
			o := &entry{id: sum.id, key: sum.key, deltas: make([]int64, len(sum.deltas)), touch: make([]string, len(sum.touch)), where: sum.where, rest: sum.rest}
			sum.deltas = slices.Clone(sum.deltas) // perhaps it is the caller's own
			sum.deltas[i], o.deltas[i] = d, -d
			opposite = append(opposite, o)
		}
	}
	return opposite
}

// culprits are the units that keep a batch from being sent: their rows are gone,
// or locked by somebody; all of them, if it can't be told.
func (c *conn) culprits(ctx context.Context, b *batch, entries []*entry, units []*unit) []*unit {
	rows, err := c.read(ctx, b.upsert(c, entries).culprits())
	if err != nil {
		return units
	}
	failed := map[string]bool{}
	for _, r := range rows {
		if n, err := strconv.Atoi(r[0]); err == nil {
			failed[entries[n].id] = true
		}
	}
	found := slices.DeleteFunc(slices.Clone(units), func(u *unit) bool {
		return !slices.ContainsFunc(u.entries, func(e *entry) bool { return failed[e.id] })
	})
	if len(found) == 0 {
		return units
	}
	return found
}

// maxBatches bounds the batches that a table keeps: a text may give it any name.
const maxBatches = 1000

// batch returns the table's batch for conditions that call it by a name and
// give one of its unique keys; beyond the bound, one of the caller's own.
func (t *table) batch(name string, cols []*column) *batch {
	way := name + "\x00" + strings.Join(quoteNames(cols), ",")
	if b, ok := t.batches.Load(way); ok {
		return b.(*batch)
	}
	own := &batch{t: t, name: name, cols: cols}
	if t.batchCount.Load() >= maxBatches {
		return own
	}
	b, known := t.batches.LoadOrStore(way, own)
	if !known {
		t.batchCount.Add(1)
	}
	return b.(*batch)
}

// mayJoin lets the increment of one row share a transaction.
func (inc *increment) mayJoin(key pin) {
	for i, v := range key.values {
		if v.negative || !key.cols[i].joins() {
			return
		}
	}
	inc.batch, inc.pin = inc.t.batch(inc.name, key.cols), key
	if !inc.narrowed {
		return
	}
	rest := fragment{pieces: inc.where.pieces, params: slices.Clone(inc.where.params)}
	for i, p := range rest.params {
		for k, v := range key.values {
			if v.param == p {
				rest.params[i] = -1 - k
			}
		}
	}
	inc.rest = &rest
}

// entry is the increment by its key; ok is false if it has to go by itself.
func (inc *increment) entry(b binder, out *bound) (e *entry, ok bool) {
	e = &entry{key: make(key, len(inc.pin.cols)), deltas: out.deltas[0], touch: out.touch, where: out.conditions[0]}
	for i, c := range inc.pin.cols {
		if e.key[i], ok = b.keyText(c, inc.pin.values[i]); !ok {
			return nil, false
		}
	}
	e.id = e.key.id()
	if inc.rest != nil {
		if e.rest, ok = inc.rest.bind(b); !ok {
			return nil, false
		}
		e.id += "\x01" + e.rest
	}
	for _, at := range e.touch {
		if at != "" && at[0] != '\'' {
			e.id += "\x02" + at
		}
	}
	return e, true
}
