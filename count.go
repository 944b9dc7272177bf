package countermysql

import (
	"context"
	"errors"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/groupcommit"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// after says how a statement goes on that was tried as an increment.
type after uint8

const (
	notTried after = iota
	done
	takeVerbatim
	takeExact
)

// increment runs a relative write as an increment. By a route of a lone one it may find out
// that it is none.
func (c *conn) increment(ctx context.Context, k *call, r plan.Route) (outcome, after, error) {
	if r.Lone {
		out, how, err := c.countAlone(ctx, k)
		if how != notTried {
			return out, how, err
		}
		switch r = k.route(nil); r.Class {
		case plan.Exact:
			return outcome{}, takeExact, nil
		case plan.Verbatim:
			return outcome{}, takeVerbatim, nil
		}
	}
	if err := c.BeginImplied(ctx); err != nil {
		return outcome{}, done, err
	}
	return c.count(ctx, k, r.Bound)
}

// count runs an increment: at once outside a transaction, pending inside.
func (c *conn) count(ctx context.Context, k *call, b *plan.Bound) (outcome, after, error) {
	c.connector.stats.Increments.Add(1)
	if c.InTransaction() {
		return c.countLater(ctx, k, b)
	}
	if len(b.Conditions) == 1 && b.One {
		return c.countOne(ctx, k, b)
	}
	hits, how, err := c.findAll(ctx, b)
	if err != nil || how != done {
		return outcome{}, how, err
	}
	entries, ok := merged(b, hits)
	if !ok {
		return outcome{}, takeVerbatim, nil
	}
	if len(entries) > c.Several(b.Table, len(entries), session.EachOf(entries, (*slotsql.RowIncrement).KeyOf)) {
		return outcome{}, takeExact, nil // its own text says of them in few words
	}
	way := c.connector.batch(b.Table, b.Name, b.Table.Key)
	if u := c.request(entries); c.grouped() && u.Fits() {
		switch v := c.together(ctx, way, u, false); {
		case v.Err != nil:
			return outcome{}, done, v.Err
		case !v.Alone:
			return c.counted(k, b.Increment, int64(len(hits))), done, nil
		}
	}
	defer c.Leased.Release()
	switch err := c.sendUpsert(ctx, way.waiting(c, entries), false); {
	case errors.Is(err, errRowGone):
		return outcome{}, takeExact, nil
	case err != nil:
		return outcome{}, done, err
	}
	c.connector.background.Slotted(&way.keys, entries)
	return c.counted(k, b.Increment, int64(len(hits))), done, nil
}

// merged are the increments of rows that were found, in the order in which they are
// sent; ok is false where a sum leaves 64 bits.
func merged(b *plan.Bound, hits []slotsql.RowIncrement) (entries []*slotsql.RowIncrement, ok bool) {
	p := &txn.Pending{Table: b.Table}
	for _, h := range hits {
		if !b.ByKey || b.Narrowed { // others may change the row before it is locked
			h.Rest = b.Conditions[0]
			h.ID += "\x01" + h.Rest
			h.Where = b.Table.Where(h.Key, sqltext.Quote(b.Name)) + " AND (" + h.Rest + ")"
		}
		if !p.Add(h) {
			return nil, false
		}
	}
	return p.Sorted(), true
}

// counted is the answer that the plain statement would have given.
func (c *conn) counted(k *call, inc *plan.Increment, rows int64) outcome {
	if inc.Rows != nil {
		rows *= 2 // ON DUPLICATE KEY UPDATE reports 2 for a changed row
	}
	if k.rows {
		return outcome{rows: answer.NoRows{}}
	}
	return outcome{res: answer.Affected(rows)}
}

// countAlone sends an increment of one row that nobody can go with. It does not
// wait in the group for a base row that somebody has locked.
func (c *conn) countAlone(ctx context.Context, k *call) (outcome, after, error) {
	inc := k.Plan.Increment
	if !c.filler.Bind(inc, k.binder()) {
		return outcome{}, notTried, nil
	}
	var lead groupcommit.Leadership
	b := k.state.batch
	lock, together := inc.Table.Lock(), b != nil && c.grouped()
	if sent, err := c.fillDirectly(ctx, b); !errors.Is(err, errNotDirect) {
		if !sent {
			return outcome{}, notTried, nil
		}
		if err == nil {
			c.connector.stats.Increments.Add(1)
		}
		if together {
			c.connector.stats.Group(1)
		}
		return c.sent(k, inc, err)
	}
	if together {
		if lead = b.group.Enter(); lead == 0 {
			return outcome{}, notTried, nil
		}
		lock = inc.Table.NoWait()
	}
	send := func() (bool, error) {
		text, ok := c.filler.Statement(c.Insert(), lock, c.Slot(inc.Table))
		if !ok {
			return false, nil
		}
		defer c.Leased.Release()
		err := c.sendUpsert(ctx, text, true)
		if err == nil && b != nil && c.connector.background.On() {
			c.connector.background.Slotted(&b.keys, []*slotsql.RowIncrement{{Key: c.filler.Key()}})
		}
		return true, err
	}
	first := func() (bool, error) {
		if together {
			defer b.group.Leave(lead)
			defer c.connector.stats.Group(1)
		}
		return send()
	}
	sent, err := first()
	if together && err != nil && undone(err) && !errors.Is(err, errRowGone) {
		c.unheard(err)
		lock = inc.Table.Lock()
		sent, err = send()
	}
	if !sent {
		return outcome{}, notTried, nil
	}
	if err == nil {
		c.connector.stats.Increments.Add(1)
	}
	return c.sent(k, inc, err)
}

// sent says how an increment of one row goes on that was sent by itself.
func (c *conn) sent(k *call, inc *plan.Increment, err error) (outcome, after, error) {
	switch {
	case err == nil:
		return c.counted(k, inc, 1), done, nil
	case mysqlerr.Number(err) == mysqlerr.ErrOutOfRange:
		return outcome{}, takeExact, nil // the slot is full
	case !errors.Is(err, errRowGone):
		return outcome{}, done, err
	case len(inc.Table.Touch) > 0:
		return outcome{}, takeExact, nil // perhaps it has a touch column in the future
	}
	return outcome{}, takeVerbatim, nil
}

// countOne adds an increment of one row in one round trip, together with those
// of others where it can. If no row took it, the statement itself finds out why.
func (c *conn) countOne(ctx context.Context, k *call, b *plan.Bound) (outcome, after, error) {
	defer c.Leased.Release()
	e, joins := k.entryOf(b)
	if joins {
		switch v := c.together(ctx, k.state.batch, c.request([]*slotsql.RowIncrement{e}), false); {
		case v.Err != nil:
			return outcome{}, done, v.Err
		case !v.Alone:
			return c.counted(k, b.Increment, 1), done, nil
		case v.Gone:
			return c.sent(k, b.Increment, errRowGone)
		}
	}
	err := c.sendUpsert(ctx, c.upsertOne(b, e), true)
	if err == nil && joins {
		c.connector.background.Slotted(&k.state.batch.keys, []*slotsql.RowIncrement{e})
	}
	return c.sent(k, b.Increment, err)
}

// entryOf is the increment of one row, and whether it may go together with others.
func (k *call) entryOf(b *plan.Bound) (e *slotsql.RowIncrement, joins bool) {
	if b.Joins && k.conn.grouped() {
		if e, ok := b.Increment.Entry(k.binder(), b); ok {
			return e, true
		}
	}
	return &slotsql.RowIncrement{Deltas: b.Deltas[0], Touch: b.Touch, Where: b.Conditions[0]}, false
}

// upsertOne is the statement of one row's increment that goes by itself.
func (c *conn) upsertOne(b *plan.Bound, e *slotsql.RowIncrement) string {
	u := c.upsert(b.Table, []*slotsql.RowIncrement{e})
	u.Name, u.Later = b.Name, true
	if e.Where != "" {
		u.Columns = b.Pins[0].Columns
	}
	return u.One()
}

// countLater adds an increment to the transaction's pending ones. The rows are
// looked up, at once or when that is asked for, so that RowsAffected is true.
func (c *conn) countLater(ctx context.Context, k *call, b *plan.Bound) (outcome, after, error) {
	if c.mayPromise(k, b) {
		return outcome{res: c.promise(b)}, done, nil
	}
	if err := c.keepPromises(ctx); err != nil {
		return outcome{}, done, err
	}
	hits, how, err := c.findAll(ctx, b)
	if err != nil || how != done {
		return outcome{}, how, err
	}
	if err := c.addPending(ctx, b.Table, hits, c.HasSnapshot); err != nil {
		return outcome{}, done, err
	}
	c.Transaction().Increments++
	c.connector.stats.Pending.Add(1)
	return c.counted(k, b.Increment, int64(len(hits))), done, nil
}

// addPending adds increments of rows that were found to the transaction's pending ones.
func (c *conn) addPending(ctx context.Context, t *catalog.Table, hits []slotsql.RowIncrement, late bool) error {
	p := c.Transaction().PendingFor(t)
	for _, h := range hits {
		if !p.Add(h) {
			if err := c.ApplyPending(ctx, t, nil); err != nil {
				return err
			}
			p = c.Transaction().PendingFor(t)
			p.Add(h)
		}
	}
	p.NoteLate(late)
	return nil
}
