package increment

import (
	"context"
	"errors"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// errRowGone says that a row to be incremented is missing or has become NULL.
var errRowGone = errors.New("countermysql: the row is gone")

// Send sends the transaction's pending increments, table by table in canonical
// order. It is the last thing before COMMIT: when the transaction goes on after
// it, its own slots would show in its snapshot.
func (c *Caller) Send(ctx context.Context) error {
	x := c.Open()
	if x == nil {
		return nil
	}
	x.Due()
	x.DropEmpty()
	if err := sendTaken(ctx, c, x); err != nil {
		return err
	}
	unsent := x.Unsent()
	if err := c.sendRowsDirect(ctx, unsent); err != nil {
		return err
	}
	for i, p := range unsent {
		t := p.Table
		sorted := p.Sorted()
		for batch := range slices.Chunk(sorted, c.Settings.Several(t, plan.SendBatch, session.EachOf(sorted, (*slotsql.RowIncrement).KeyOf))) {
			err := errNotDirect
			if i == len(unsent)-1 && len(sorted) == 1 { // behind it no base row is waited for, with this one locked
				if err = c.sendDirect(ctx, c.shared.Batch(t, t.Spec.Name, t.Key), batch[0], false, ""); err == nil {
					err = areWhereFound(ctx, c, t, batch)
				}
			}
			if errors.Is(err, errNotDirect) {
				err = c.sendTable(ctx, t, batch)
			}
			if errors.Is(err, errRowGone) || mysqlerr.Number(err) == mysqlerr.ErrOutOfRange {
				err = c.sendEach(ctx, t, batch)
			}
			if err != nil {
				return err
			}
		}
		if c.Tx == nil {
			return nil
		}
		c.Stats.Flushes.Add(1)
		c.Tx.SentAll(t) // should the commit fail and the transaction go on
	}
	x.Sent = true
	return nil
}

// SendOrRollBack sends before a statement that commits. What can't be sent as a whole
// is not committed in part, nor sent again.
func (c *Caller) SendOrRollBack(ctx context.Context) error {
	err := c.Send(ctx)
	if err != nil {
		c.Ended()
		if rerr := c.RollBack(); rerr != nil {
			c.shared.Log.Warn("countermysql: rolling back after a failed commit", "error", rerr)
		}
	}
	return err
}

// sendTable adds sorted entries to their slots in one strict statement.
func (c *Caller) sendTable(ctx context.Context, t *catalog.Table, entries []*slotsql.RowIncrement) error {
	u := c.upsert(t, entries)
	text := u.Many
	if len(entries) == 1 {
		text = u.One
	}
	err := c.sendUpsert(ctx, text(), len(entries) == 1)
	switch {
	case err == nil:
		c.shared.Background.Slotted(&c.shared.Batch(t, t.Spec.Name, t.Key).keys, entries)
		return areWhereFound(ctx, c, t, entries)
	case otherKey[mysqlerr.Number(err)] && c.InTransaction():
		c.Watcher.NoteChange()
		return c.AsDeadlock("the table " + t.String() + " has got another key meanwhile")
	}
	return err
}

// areWhereFound fails, as by a deadlock, where a row that was found by another key than the table's
// has got another one of that, and a different row has the one that it had: what was meant for the
// first was added to the second, which is locked, so that it stays so.
func areWhereFound(ctx context.Context, c *Caller, t *catalog.Table, entries []*slotsql.RowIncrement) error {
	for _, e := range entries {
		for _, found := range e.Finds {
			name := sqltext.Quote(found.Name)
			now, err := c.Outside(ctx, "SELECT "+t.Key.Select(name)+" FROM "+t.Base()+" AS "+name+" WHERE "+found.Where)
			if err != nil {
				return err
			}
			is := func(k catalog.Key) func(row []string) bool {
				return func(row []string) bool { return slices.Equal(row[:len(t.Key)], k) }
			}
			moved := slices.DeleteFunc(slices.Clone(now), func(row []string) bool {
				return slices.ContainsFunc(found.Keys, func(k catalog.Key) bool { return is(k)(row) })
			})
			if len(moved) == 0 || slices.ContainsFunc(now, is(e.Key)) {
				continue
			}
			left, err := c.Outside(ctx, "SELECT 1 FROM "+t.Base()+" WHERE "+t.Key.WhereAny(found.Keys, t.Ref()))
			switch {
			case err != nil:
				return err
			case len(left)+len(moved) > len(found.Keys):
				return c.AsDeadlock("another row of " + t.String() + " has got the key of one that was incremented")
			}
		}
	}
	return nil
}

// otherKey are the errors of an upsert that was planned for another key.
var otherKey = map[uint16]bool{mysqlerr.ErrNoColumn: true, mysqlerr.ErrNoDefault: true}

// rowGone reports whether a statement for many entries failed because a row was
// not there, if it was not a slot that is full.
func rowGone(err error) bool {
	n := mysqlerr.Number(err)
	return n == mysqlerr.ErrOutOfRange || n == mysqlerr.ErrBadNull
}

// sendUpsert runs a statement for one entry or many. Outside a transaction it is
// sent again after a deadlock, which undid it.
func (c *Caller) sendUpsert(ctx context.Context, stmt string, one bool) error {
	inside := c.InTransaction() // a deadlock ends the transaction, with all that was in it
	for try := 0; ; try++ {
		affected, err := c.Do(ctx, stmt)
		n := mysqlerr.Number(err)
		if rowGone(err) && !one || err == nil && affected == 0 && one || mysqlerr.BadValue[n] {
			return errRowGone // or so: the statement itself finds out
		}
		if n != mysqlerr.ErrDeadlock || try == session.MaxRetries || inside {
			return err
		}
	}
}

// sendEach sends entries one by one. Where a row does not take one, it may have become
// NULL in some counter: then the base row takes the others. A row that is gone is
// looked up again by the application's own condition, in case another transaction has
// given it a new key; if there is none, the increment went with the row.
func (c *Caller) sendEach(ctx context.Context, t *catalog.Table, entries []*slotsql.RowIncrement) error {
	for _, e := range entries {
		err := c.sendOrApply(ctx, t, e)
		if !errors.Is(err, errRowGone) {
			if err != nil {
				return err
			}
			continue
		}
		there, err := c.Outside(ctx, "SELECT 1 FROM "+t.Base()+" WHERE "+t.Key.Where(e.Key, t.Ref())) // to look for a row that is gone would lock its gap
		if err != nil {
			return err
		}
		if len(there) > 0 {
			switch _, err := c.FoldKeys(ctx, t, map[string]catalog.Key{e.ID: e.Key}); {
			case errors.Is(err, fold.ErrOtherSlots):
				if _, err := c.AddToBase(ctx, t, e); err != nil {
					return err
				}
				continue
			case err != nil:
				return err
			}
			if c.Transaction().PendingFor(t).Get(e.ID) == nil {
				continue
			}
		}
		moved, err := c.Relocate(ctx, t, e)
		if err != nil {
			return err
		}
		if len(there) == 0 {
			c.Transaction().Missed(t, e.ID)
		}
		for _, m := range moved {
			err := c.sendOrApply(ctx, t, m)
			if errors.Is(err, errRowGone) { // it is locked: NULL in some counter
				err = c.ApplyEntry(ctx, t, m)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sendOrApply sends an entry, or adds it to its base row with all slots where its
// own slot would leave 64 bits.
func (c *Caller) sendOrApply(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement) error {
	err := c.sendTable(ctx, t, []*slotsql.RowIncrement{e})
	if mysqlerr.Number(err) != mysqlerr.ErrOutOfRange {
		return err
	}
	return c.ApplyEntry(ctx, t, e)
}
