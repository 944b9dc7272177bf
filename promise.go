package countermysql

import (
	"context"
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// promise is the result of an increment in a transaction whose row has not been looked
// for: who does not ask for RowsAffected does not wait for the answer. COMMIT needs none, as
// the statement that it sends finds out whether the row is there. But it has to be known
// before the transaction itself may make that row, or see that there is none: so the next
// statement keeps the promise, if it is more than a write of other tables.
type promise struct {
	conn     *conn // nil: it is kept, or the transaction is over
	b        *plan.Bound
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

func (p *promise) entry() slotsql.RowIncrement {
	return slotsql.RowIncrement{ID: p.b.ID, Key: catalog.Key{p.b.ID}, Deltas: p.b.Deltas[0], Touch: []string{}}
}

// mayPromise reports whether an increment's row need not be looked for yet: one row, by a
// primary key of one integer and nothing else, in a table that the transaction has not
// written; and whether it is there is all that RowsAffected depends on.
func (c *conn) mayPromise(k *call, b *plan.Bound) bool {
	t, x := b.Table, c.transaction()
	w, p := x.written[t.String()], x.pending[t.String()]
	switch {
	case c.ctx == nil, k.rows, b.ID == "", len(t.Touch) > 0, x.called, x.inside,
		w != nil && (w.any || len(w.rows) > 0 || len(w.taken) > 0),
		p.get(b.ID) != nil:
		return false
	}
	for i, d := range b.Deltas[0] {
		if d != 0 && t.Counters[i].Nullable {
			return false
		}
	}
	return !slices.ContainsFunc(x.promises, func(p *promise) bool { return p.b.Table == t && p.b.ID == b.ID })
}

// promise adds an increment to the transaction's, and returns its result.
func (c *conn) promise(b *plan.Bound) *promise {
	x, p := c.transaction(), &promise{conn: c, b: b, late: c.fixed, affected: 1}
	x.promises = append(x.promises, p)
	x.increments++
	c.connector.stats.Pending.Add(1)
	return p
}

// outdated reports whether a promise was made by another schema's table.
func (x *txState) outdated(s *catalog.Schema) bool {
	return slices.ContainsFunc(x.promises, func(p *promise) bool {
		return s.Lookup(p.b.Table.Spec.DB, p.b.Table.Spec.Name, "") != p.b.Table
	})
}

// keepPromises looks for the rows of increments that were not looked for. If it fails,
// the transaction is lost: the application has been told that they were done.
func (c *conn) keepPromises(ctx context.Context) error {
	if c.tx == nil || len(c.tx.promises) == 0 {
		return nil
	}
	defer c.closeOnPanic()
	x := c.tx
	for i, p := range x.promises {
		if err := c.keep(ctx, p); err != nil {
			for _, p := range x.promises[i:] {
				p.conn, p.err = nil, err // to who overlooks the error, no row is missing: COMMIT fails
			}
			x.promises = nil
			c.broken = err
			c.lose(err)
			return err
		}
		p.conn = nil
	}
	x.promises = nil
	return nil
}

// keep looks for the row of a promise. Where it seems to be missing, another transaction
// may be about to insert it: then the statement itself finds out.
func (c *conn) keep(ctx context.Context, p *promise) error {
	t, e := p.b.Table, p.entry()
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
	if c.connector.cfg.ClientFoundRows { // it may have been NULL
		w.setAny()
		return nil
	}
	w.mark(writtenRow{base: t.Where(e.Key, sqltext.Quote(t.Spec.Name)), slots: t.Where(e.Key, catalog.PrivateName)})
	return nil
}

// due makes the promises pending increments, right before these are sent.
func (x *txState) due() {
	for _, p := range x.promises {
		of := x.pendingFor(p.b.Table)
		of.add(p.entry())
		of.noteLate(p.late)
	}
	x.promised, x.promises = append(x.promised, x.promises...), nil
}

// missed notes that a row was not there when its increment was sent.
func (x *txState) missed(t *catalog.Table, id string) {
	for _, p := range x.promised {
		if p.b.Table.String() == t.String() && p.b.ID == id {
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
