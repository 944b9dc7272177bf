package increment

import (
	"context"
	"errors"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/txn"
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
		name, sorted, ok := asFound(p)
		if !ok {
			if err := fold.Follow(ctx, c.Folder, t); err != nil {
				return err
			}
			x.DropEmpty() // what cancels out now that several have the same key
			name, sorted = t.Spec.Name, p.Sorted()
		}
		for batch := range session.Batches(&c.Settings, t, plan.SendBatch, sorted) {
			err := errNotDirect
			if i == len(unsent)-1 && len(sorted) == 1 { // behind it no base row is waited for, with this one locked
				err = c.sendDirect(ctx, c.shared.Batch(t, name, t.Key), batch[0], false, batch[0].Further())
			}
			if errors.Is(err, errNotDirect) {
				err = c.sendTable(ctx, t, name, batch)
			}
			if errors.Is(err, errRowGone) || mysqlerr.Number(err) == mysqlerr.ErrOutOfRange {
				err = c.sendEach(ctx, t, name, batch)
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
func (c *Caller) sendTable(ctx context.Context, t *catalog.Table, name string, entries []*slotsql.RowIncrement) error {
	u := c.upsert(t, entries)
	u.Name = name
	err := c.sendUpsert(ctx, u.SQL(), len(entries) == 1)
	switch {
	case err == nil:
		c.shared.Slotted(t, entries)
	case otherKey[mysqlerr.Number(err)] && c.InTransaction():
		c.Watcher.NoteChange()
		return c.AsDeadlock("the table " + t.String() + " has got another key meanwhile")
	}
	return err
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
	send := func() error {
		affected, err := c.Do(ctx, stmt)
		if rowGone(err) && !one || err == nil && affected == 0 && one || mysqlerr.BadValue[mysqlerr.Number(err)] {
			return errRowGone // or so: the statement itself finds out
		}
		return err
	}
	if c.InTransaction() { // a deadlock ends it, with all that was in it
		return send()
	}
	return session.Again(ctx, send)
}

// sendEach sends entries one by one. Where a row does not take one, it may have become NULL in some
// counter: then the base row takes the others. One that was found by other keys, and is not any
// more, may be under another one, and its own that of a different row. Where there is none the
// increment went with the row.
func (c *Caller) sendEach(ctx context.Context, t *catalog.Table, name string, entries []*slotsql.RowIncrement) error {
	for _, e := range entries {
		err := c.sendOrApply(ctx, t, name, e)
		switch {
		case err == nil:
			continue
		case !errors.Is(err, errRowGone):
			return err
		case e.Rest != "":
			parts, err := c.Relocate(ctx, t, e)
			if err == nil {
				err = c.sendEach(ctx, t, t.Spec.Name, parts)
			}
			if err != nil {
				return err
			}
			continue
		}
		there, err := c.Outside(ctx, "SELECT 1 FROM "+t.Base()+" WHERE "+t.Key.Where(e.Key, t.Ref())) // to look for a row that is gone would lock its gap
		if err != nil {
			return err
		}
		if len(there) == 0 {
			c.Transaction().Missed(t, e.ID)
			continue
		}
		if err = c.ApplyEntry(ctx, t, e); errors.Is(err, fold.ErrOtherSlots) {
			_, err = c.AddToBase(ctx, t, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sendOrApply sends an entry, or adds it to its base row with all slots where its
// own slot would leave 64 bits.
func (c *Caller) sendOrApply(ctx context.Context, t *catalog.Table, name string, e *slotsql.RowIncrement) error {
	err := c.sendTable(ctx, t, name, []*slotsql.RowIncrement{e})
	switch {
	case mysqlerr.Number(err) != mysqlerr.ErrOutOfRange:
		return err
	case e.Rest != "": // it is looked for, and then applied as what it is pending as
		return errRowGone
	}
	return c.ApplyEntry(ctx, t, e)
}

// sendTaken writes what a transaction has taken of the reserved rows that it has locked. It
// locks nothing else: who waits for these rows may have the base row locked.
func sendTaken(ctx context.Context, c *Caller, x *txn.State) error {
	if len(c.Taken) == 0 { // nor wanted
		return nil
	}
	for _, p := range x.Unsent() {
		for _, e := range p.Sorted() {
			if e.Slot == 0 {
				continue
			}
			affected, err := c.Do(ctx, c.Settings.Unsnapshot()+slotsql.TakeReserved(p.Table, e))
			switch n := mysqlerr.Number(err); {
			case mysqlerr.Beyond[n]: // of a counter that it increments besides
				if err := c.ApplyEntry(ctx, p.Table, e); err != nil {
					return err
				}
				continue
			case err != nil:
				return err
			case affected == 0 && e.Counts(): // its lock keeps it, but not from who takes the table for another
				return c.AsDeadlock("a reserved row of " + p.Table.String() + " is gone")
			}
			x.SentTaken(p, e)
		}
	}
	return nil
}
