package increment

import (
	"context"
	"errors"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/groupcommit"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/traffic"
	"github.com/countermysql/countermysql/internal/txn"
)

// Execution is one execution of an increment of the application's.
type Execution struct {
	Increment *plan.Increment
	Binder    plan.Binder
	Batch     *Batch          // of its plan; nil: it goes by itself
	Behind    *traffic.Behind // it, by plan
	Rows      bool            // it was asked for rows
}

// Counted is what has become of it: so many rows, or as many as are found when somebody asks.
type Counted struct {
	Rows    int64
	Promise *txn.Promise // nil: it is known
}

// After says how a statement goes on that was tried as an increment.
type After uint8

const (
	NotTried After = iota
	Done
	TakeVerbatim
	TakeExact
)

// Count counts an increment inside a transaction, where it is pending, or one of several rows outside, at once.
func (c *Caller) Count(ctx context.Context, x Execution, b *plan.BoundIncrement) (Counted, After, error) {
	c.Stats.Increments.Add(1)
	if c.InTransaction() {
		return c.countLater(ctx, x, b)
	}
	rows, entries, how, err := c.findSeveral(ctx, b)
	if err != nil || how != Done {
		return Counted{}, how, err
	}
	way := c.shared.Batch(b.Table, b.Name, b.Table.Key)
	if u := c.request(entries); c.Grouped() && u.Fits() {
		switch v := c.together(ctx, way, u, atOnce); {
		case v.Err != nil:
			return Counted{}, Done, v.Err
		case !v.Alone:
			return counted(b.Increment, rows), Done, nil
		}
	}
	defer c.Leased.Release()
	switch err := c.sendUpsert(ctx, way.waiting(c, entries), false); {
	case errors.Is(err, errRowGone):
		return Counted{}, TakeExact, nil
	case err != nil:
		return Counted{}, Done, err
	}
	c.shared.Background.Slotted(&way.keys, entries)
	return counted(b.Increment, rows), Done, nil
}

// findSeveral are the increments of so many rows, in the order in which they are sent: one for each
// of them, or less.
func (c *Caller) findSeveral(ctx context.Context, b *plan.BoundIncrement) (rows int64, entries []*slotsql.RowIncrement, how After, err error) {
	hits, how, err := c.findAll(ctx, b, nil)
	if err != nil || how != Done {
		return 0, nil, how, err
	}
	p := &txn.Pending{Table: b.Table}
	for _, h := range hits {
		if !b.ByKey || b.Narrowed { // others may change the row before it is locked
			h.OnlyIf(b.Table, b.Name, b.Conditions[0])
		}
		if !p.Add(h) { // a sum leaves 64 bits
			return 0, nil, TakeVerbatim, nil
		}
	}
	entries = p.Sorted()
	if len(entries) > session.Several(&c.Settings, b.Table, len(entries), entries) {
		return 0, nil, TakeExact, nil // its own text says of them in few words
	}
	return int64(len(hits)), entries, Done, nil
}

// counted is what the plain statement would have reported.
func counted(inc *plan.Increment, rows int64) Counted {
	if inc.Rows != nil {
		rows *= 2 // ON DUPLICATE KEY UPDATE reports 2 for a changed row
	}
	return Counted{Rows: rows}
}

// CountOne counts an increment of one row outside a transaction, as its route has left it in the filler: by
// itself where nobody can go with it, or together with those of others. By itself it does not wait in the
// group for a base row that somebody has locked.
func (c *Caller) CountOne(ctx context.Context, x Execution) (Counted, After, error) {
	inc, b := x.Increment, x.Batch
	grouped := b != nil && c.Grouped()
	sent, err := c.fillDirectly(ctx, b)
	met := errors.Is(err, errLocked)
	switch {
	case !errors.Is(err, errNotDirect):
		if sent && grouped {
			c.Stats.Group(1)
		}
	case grouped:
		lead := b.group.Enter()
		if lead == 0 {
			sent, err = fillTogether(ctx, c, b)
			break
		}
		sent, err = leadAlone(ctx, c, b, lead, met)
		if err != nil && Undone(err) && !errors.Is(err, errRowGone) {
			c.Refused(err)
			sent, err = fillSlot(ctx, c, inc.Table, b, inc.Table.Lock(), met)
		}
	default:
		sent, err = fillSlot(ctx, c, inc.Table, b, inc.Table.Lock(), met)
	}
	switch {
	case !sent:
		return Counted{}, NotTried, nil
	case err == nil:
		c.Stats.Increments.Add(1)
		return counted(inc, 1), Done, nil
	case mysqlerr.Number(err) == mysqlerr.ErrOutOfRange:
		return Counted{}, TakeExact, nil // the slot is full
	case !errors.Is(err, errRowGone):
		return Counted{}, Done, err
	case len(inc.Table.Touch) > 0:
		return Counted{}, TakeExact, nil // perhaps it has a touch column in the future
	}
	return Counted{}, TakeVerbatim, nil
}

// fillTogether sends the increment in the filler together with those of others, or by itself where it can't
// go with them; sent is false for an argument without an exact text.
func fillTogether(ctx context.Context, c *Caller, b *Batch) (sent bool, err error) {
	if e, ok := c.Filler.Entry(); ok {
		switch v := c.together(ctx, b, c.request([]*slotsql.RowIncrement{e}), triedAtRow); {
		case v.Gone:
			return true, errRowGone
		case v.Err != nil || !v.Alone:
			return true, v.Err
		}
	}
	return fillSlot(ctx, c, b.keys.Table, b, b.keys.Table.Lock(), true)
}

// leadAlone sends the increment in the filler as a batch of one, to its base row or to a slot; sent is
// false for an argument without an exact text.
func leadAlone(ctx context.Context, c *Caller, b *Batch, lead groupcommit.Leadership, met bool) (sent bool, err error) {
	defer b.group.Leave(lead)
	defer c.Stats.Group(1)
	err = batchAtRow(ctx, c, b, c.Filler.Key, func() (err error) {
		sent, err = sendFilled(ctx, c)
		return err
	})
	if errors.Is(err, errNotDirect) {
		return fillSlot(ctx, c, b.keys.Table, b, b.keys.Table.NoWait(), met || errors.Is(err, errLocked))
	}
	return sent, err
}

// fillSlot sends it to a slot, where it meets nobody if it has not met others at its row. b may be nil.
func fillSlot(ctx context.Context, c *Caller, t *catalog.Table, b *Batch, lock string, met bool) (sent bool, err error) {
	text, ok := c.Filler.Statement(c.Settings.Insert(), lock, c.Slot(t))
	if !ok {
		return false, nil
	}
	defer c.Leased.Release()
	err = c.sendUpsert(ctx, text, true)
	if err == nil && b != nil && c.shared.Background.On() {
		if !met {
			b.keys.Pass(c.Filler.Key)
		}
		c.shared.Background.Slotted(&b.keys, []*slotsql.RowIncrement{{Key: c.Filler.Key()}})
	}
	return true, err
}

// countLater adds an increment to the transaction's pending ones. The rows are
// looked up, at once or when that is asked for, so that RowsAffected is true.
func (c *Caller) countLater(ctx context.Context, x Execution, b *plan.BoundIncrement) (Counted, After, error) {
	c.Transaction().Counts(x.Behind)
	untouched := c.isUntouched(x, b)
	if untouched && mayPromise(c.Transaction(), b) {
		return Counted{Promise: c.promise(b, x.Behind)}, Done, nil
	}
	if err := c.KeepPromises(ctx); err != nil {
		return Counted{}, Done, err
	}
	if untouched {
		e := &slotsql.RowIncrement{ID: b.ID, Key: catalog.Key{b.ID}, Deltas: b.Deltas[0], Touch: b.Touch}
		if sent, err := c.sendAtOnce(ctx, b.Table, e, x.Behind); sent || err != nil {
			return counted(b.Increment, 1), Done, err
		}
	}
	hits, how, err := c.findAll(ctx, b, nil)
	if err != nil || how != Done {
		return Counted{}, how, err
	}
	if err := c.addPending(ctx, b.Table, hits, c.HasSnapshot); err != nil {
		return Counted{}, Done, err
	}
	c.Transaction().Increments++
	c.Stats.Pending.Add(1)
	return counted(b.Increment, int64(len(hits))), Done, nil
}

// addPending adds increments of rows that were found to the transaction's pending ones.
func (c *Caller) addPending(ctx context.Context, t *catalog.Table, hits []slotsql.RowIncrement, late bool) error {
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

// upsert prepares a statement for entries by the slots table's own key.
func (c *Caller) upsert(t *catalog.Table, entries []*slotsql.RowIncrement) *slotsql.Upsert {
	return &slotsql.Upsert{Table: t, Name: t.Spec.Name, Columns: t.Key, Entries: entries, Lock: t.Lock(), Slot: c.Slot(t), Insert: c.Settings.Insert()}
}
