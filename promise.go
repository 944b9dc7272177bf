package countermysql

import (
	"context"
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// promise is the result of an increment in a transaction whose row has not been looked
// for: who does not ask for RowsAffected does not wait for the answer. COMMIT needs none, as
// the statement that it sends finds out whether the row is there. But it has to be known
// before the transaction itself may make that row, or see that there is none: so the next
// statement keeps the promise, if it is more than a write of other tables.
type promise struct {
	conn     *conn // nil: it is kept, or the transaction is over
	b        *bound
	late     bool // it came after the transaction's snapshot
	affected int64
	err      error
}

var _ mysql.Result = (*promise)(nil)

// errNotLookedFor is what a Result answers that is asked too late.
var errNotLookedFor = errors.New("countermysql: RowsAffected of an increment was asked after its transaction was rolled back")

// RowsAffected looks for the row, if nobody has done so. It has no context of its own. An
// error breaks the connection, as the caller may overlook it and commit.
func (p *promise) RowsAffected() (int64, error) {
	if c := p.conn; c != nil {
		_ = c.keepPromises(c.ctx) // p.err says it
	}
	return p.affected, p.err
}

// LastInsertId is that of an UPDATE.
func (p *promise) LastInsertId() (int64, error) { return 0, nil }

// AllRowsAffected is for callers of Raw.
func (p *promise) AllRowsAffected() []int64 {
	n, _ := p.RowsAffected()
	return []int64{n}
}

// AllLastInsertIds is for callers of Raw.
func (p *promise) AllLastInsertIds() []int64 { return []int64{0} }

func (p *promise) entry() entry {
	return entry{id: p.b.id, key: key{p.b.id}, deltas: p.b.deltas[0], touch: []string{}}
}

// mayPromise reports whether an increment's row need not be looked for yet: one row, by a
// primary key of one integer and nothing else, in a table that the transaction has not
// written; and whether it is there is all that RowsAffected depends on.
func (c *conn) mayPromise(k *call, b *bound) bool {
	t, x := b.t, c.transaction()
	w, p := x.written[t.String()], x.pending[t.String()]
	switch {
	case c.ctx == nil, k.rows, b.id == "", len(t.touch) > 0, x.called, x.inside,
		w != nil && (w.any || len(w.rows) > 0 || w.taken.len() > 0),
		p != nil && p.entries.get(b.id) != nil:
		return false
	}
	for i, d := range b.deltas[0] {
		if d != 0 && t.counters[i].nullable {
			return false
		}
	}
	return !slices.ContainsFunc(x.promises, func(p *promise) bool { return p.b.t == t && p.b.id == b.id })
}

// promise adds an increment to the transaction's, and returns its result.
func (c *conn) promise(b *bound) *promise {
	x, p := c.transaction(), &promise{conn: c, b: b, late: c.fixed, affected: 1}
	x.promises = append(x.promises, p)
	x.increments++
	c.connector.stats.pending.Add(1)
	c.lastRows = rowCount{p.affected, true}
	return p
}

// outdated reports whether a promise was made by another schema's table.
func (x *txState) outdated(s *schema) bool {
	return slices.ContainsFunc(x.promises, func(p *promise) bool {
		return s.lookup(p.b.t.spec.db, p.b.t.spec.name, "") != p.b.t
	})
}

// keepPromises looks for the rows of increments that were not looked for. If it fails,
// the transaction is lost: the application has been told that they were done.
func (c *conn) keepPromises(ctx context.Context) error {
	if c.tx == nil || len(c.tx.promises) == 0 {
		return nil
	}
	returned := false
	defer func() { c.closeUnless(returned) }()
	x := c.tx
	for i, p := range x.promises {
		if err := c.keep(ctx, p); err != nil {
			for _, p := range x.promises[i:] {
				p.conn, p.err = nil, err // to who overlooks the error, no row is missing: COMMIT fails
			}
			x.promises = nil
			c.broken = err
			c.lose(err)
			returned = true
			return err
		}
		p.conn = nil
	}
	if c.lastRows.known {
		c.lastRows.rows = x.promises[len(x.promises)-1].affected
	}
	x.promises = nil
	returned = true
	return nil
}

// keep looks for the row of a promise. Where it seems to be missing, another transaction
// may be about to insert it: then the statement itself finds out.
func (c *conn) keep(ctx context.Context, p *promise) error {
	t, e := p.b.t, p.entry()
	hits, how, err := c.findAll(ctx, p.b)
	if err != nil {
		return err
	}
	if how == done {
		return c.addPending(ctx, t, hits, p.late)
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	if p.affected, err = c.addToBase(ctx, t, &e); err != nil || p.affected == 0 {
		return err
	}
	w := c.transaction().writtenTo(t)
	w.writes++
	w.mark(writtenRow{base: t.where(e.key, quoteIdent(t.spec.name)), slots: t.where(e.key, privateName)})
	return nil
}

// due makes the promises pending increments, right before these are sent.
func (x *txState) due() {
	for _, p := range x.promises {
		of := x.pendingFor(p.b.t)
		of.add(p.entry())
		of.late = of.late || p.late
	}
	x.promised, x.promises = append(x.promised, x.promises...), nil
}

// missed notes that a row was not there when its increment was sent.
func (x *txState) missed(t *table, id string) {
	for _, p := range x.promised {
		if p.b.t.String() == t.String() && p.b.id == id {
			p.affected = 0
		}
	}
}

// endPromises answers what nobody has asked for: by what was found when the increments were
// sent.
func (x *txState) endPromises() {
	for _, p := range slices.Concat(x.promises, x.promised) {
		if p.conn, p.err = nil, nil; !x.sent {
			p.affected, p.err = 0, errNotLookedFor
		}
	}
}
