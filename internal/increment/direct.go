package increment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/traffic"
	"github.com/countermysql/countermysql/internal/txn"
)

// An increment that meets no other changes the base row itself, where it is as right as
// in a slot, and leaves nothing that reads would have to add up. It never waits for the
// row's lock: who waits there keeps everybody behind him from it, and can deadlock with
// two transactions that share it through foreign keys. For a transaction of the process that has the
// row it waits a moment, in memory. If the lock is refused, and, outside transactions, still is
// milliseconds later where that is rare, the increment goes to a slot. A
// key of which most do is hot: the next ones go there without asking, but for those outside
// transactions that go together, which ask for all their rows at once, but for those that were locked
// within the last second.

// errNotDirect says that an increment has to go to a slot, errLocked that this is for want of the
// row's lock. Nothing was done.
var (
	errNotDirect = errors.New("countermysql: the increment has to go to a slot")
	errLocked    = fmt.Errorf("%w: its row is locked", errNotDirect)
)

// cools reports whether base rows may take increments that meet no others. Where a lock
// that is refused may roll the transaction back, they may not inside one
// (https://mariadb.com/kb/en/innodb-system-variables/#innodb_rollback_on_timeout).
func (c *Caller) cools(b *Batch) bool {
	t := b.keys.Table
	return c.shared.Background.On() && c.Settings.Strict && !c.Settings.LosesWait && !t.Cluster && len(t.Key) > 0 && !(t.RollsBack && c.InTransaction())
}

// sendDirect adds an increment of a cold row to that. later leaves out a row that was touched
// later; further are conditions besides.
func (c *Caller) sendDirect(ctx context.Context, b *Batch, e *slotsql.RowIncrement, later bool, further string) error {
	if !b.takes(c, e) || !claims(ctx, c, b, e.Key) {
		return errNotDirect
	}
	err := c.changeRow(ctx, b, e, later, further)
	switch {
	case err == nil:
		b.keys.Pass(e.KeyOf)
	case errors.Is(err, errLocked):
		b.keys.Meet(e.Key)
	}
	return err
}

// takes reports whether a caller's increment may change the base row, if that is not hot.
func (b *Batch) takes(c *Caller, e *slotsql.RowIncrement) bool {
	return e.Counts() && e.Key != nil && c.cools(b)
}

// changeRow sends it.
func (c *Caller) changeRow(ctx context.Context, b *Batch, e *slotsql.RowIncrement, later bool, further string) error {
	u, t := b.baseUpdate(e, later), b.keys.Table
	whole := func() string {
		return string(u.Fill(nil, c.Settings.NoWaiting(), "", 0, b.filling(e))) + further
	}
	send := func() (int64, error) { return c.Do(ctx, whole()) }
	if slotsql.AreNumbers(t, e) && slices.Equal(b.keys.By, t.Key) {
		send = func() (int64, error) {
			return c.DoApart(ctx, c.Settings.NoWaiting(), u.apart+further, u.NumbersOf(e), whole)
		}
	}
	return c.changeDirectly(1, send)
}

// sendAtOnce changes the base row of a transaction's increment where plain MySQL does,
// instead of looking whether it is there, and with it those of all others, which are held; sent is
// false where it has to wait for COMMIT. It is for one that is expected to be the last. Where the
// others have to wait, so does one that does not come before them in canonical order: transactions
// that change one row and are then to wait for another, or for a slot that comes before it, could
// deadlock. Nor may who waits for this row wait for long.
func (c *Caller) sendAtOnce(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement, behind *traffic.Behind) (sent bool, err error) {
	x := c.Tx
	if x == nil || !behind.Last() || c.Unbegun != nil || !x.HoldsAll(maxDirectRows) || x.Pending[t.String()].Get(e.ID) != nil {
		return false, nil
	}
	b := c.shared.byKey(t)
	if !b.takes(c, e) || !claims(ctx, c, b, e.Key) {
		return false, nil
	}
	last, others := slotsql.BaseRow{Table: t, Increment: e}, x.Rows()
	if sent, err := sendWithHeld(ctx, c, last, others); sent || err != nil || slices.ContainsFunc(others, func(o slotsql.BaseRow) bool { return last.Compare(o) >= 0 }) {
		return sent, err
	}
	switch err := c.sendDirect(ctx, b, e, true, ""); {
	case errors.Is(err, errNotDirect), errors.Is(err, errRowGone):
		return false, nil
	case err != nil:
		return false, err
	}
	x.WrittenTo(t).MarkKey(e.Key)
	return true, nil
}

// sendWithHeld changes the row of a last increment and those of all others, which are held, in one
// statement; sent is false where it changes none. Who gets some of the locks has no other row
// exclusively than those that come before the one that is refused, or the last one, if that comes
// first: that one is held then, as the others are, or not locked at all.
func sendWithHeld(ctx context.Context, c *Caller, last slotsql.BaseRow, held []slotsql.BaseRow) (sent bool, err error) {
	if len(held) == 0 || len(held) == maxDirectRows || len(last.Table.Touch) > 0 {
		return false, nil
	}
	for _, r := range held {
		b := c.shared.byKey(r.Table)
		if !b.takes(c, r.Increment) || b.keys.Hot(r.Increment.Key.ID()) {
			return false, nil
		}
	}
	rows := slices.Concat(held, []slotsql.BaseRow{last})
	slices.SortFunc(rows, slotsql.BaseRow.Compare)
	if sent, err = changeRows(ctx, c, rows, len(rows), rows[0].Increment == last.Increment); !sent {
		if errors.Is(err, errLocked) { // each finds out for itself
			err = nil
		}
		return false, err
	}
	for _, r := range rows {
		c.Tx.WrittenTo(r.Table).MarkKey(r.Increment.Key)
	}
	return true, nil
}

// maxDirectRows bounds the increments of a transaction that may all go to base rows.
const maxDirectRows = 4

// sendRowsDirect adds a transaction's few increments to their base rows in one statement, but
// for those of hot keys, and takes them out of what is pending. It locks all rows shared
// before it has any exclusively, and waits for none. Who has them all waits for no base row
// any more, whichever of them he then locks, or does not get and leaves to a slot; and who
// has but some, shared, waits for the others in canonical order: to wait with some row locked
// exclusively would deadlock with who edits one of these rows and refers to another. Behind
// the first of a hot key all go to slots: who waits for a slot has locked no row that comes
// behind it.
func (c *Caller) sendRowsDirect(ctx context.Context, unsent []*txn.Pending) error {
	if len(unsent) == 1 && len(unsent[0].Entries) == 1 {
		return nil // behind it no base row is waited for
	}
	held := c.Transaction().HoldsAll(maxDirectRows)
	var rows []slotsql.BaseRow
	changes := 0
	for _, p := range unsent {
		b := c.shared.byKey(p.Table)
		if len(rows)+len(p.Entries) > maxDirectRows || !c.cools(b) {
			return nil
		}
		for _, e := range p.Sorted() {
			if e.Key == nil || e.Where != "" || e.Finds != nil && !e.Held {
				return nil
			}
			cold := changes == len(rows) && e.Counts() && claims(ctx, c, b, e.Key) // like all before it
			if cold {
				changes++
			}
			rows = append(rows, slotsql.BaseRow{Table: p.Table, Increment: e, Shared: !cold})
		}
	}
	if changes == 0 {
		return nil
	}
	if held { // the others are locked shared already
		rows = rows[:changes]
	}
	_, err := changeRows(ctx, c, rows, changes, held)
	if errors.Is(err, errLocked) {
		for _, r := range rows { // it does not tell which
			c.shared.byKey(r.Table).keys.Meet(r.Increment.Key)
		}
		return nil
	}
	return err
}

// changeRows sends the statement for several base rows, of which so many are changed, and takes these out
// of what is pending; done is false if it has changed none. held says that all rows are, but perhaps the first.
func changeRows(ctx context.Context, c *Caller, rows []slotsql.BaseRow, changes int, held bool) (done bool, err error) {
	switch err := c.changeDirectly(changes, func() (int64, error) { return c.sendRows(ctx, rows, held) }); {
	case errors.Is(err, errNotDirect) && !errors.Is(err, errLocked), errors.Is(err, errRowGone):
		return false, nil
	case err != nil:
		return false, err
	}
	for _, r := range rows {
		if !r.Shared {
			c.Transaction().PendingFor(r.Table).Remove(r.Increment.ID)
			c.shared.byKey(r.Table).keys.Pass(r.Increment.KeyOf)
		}
	}
	return true, nil
}

func (c *Caller) sendRows(ctx context.Context, rows []slotsql.BaseRow, held bool) (affected int64, err error) {
	whole := func() string { return c.Settings.NoWaiting() + slotsql.DirectRows(rows, held, false) }
	if slices.ContainsFunc(rows, func(r slotsql.BaseRow) bool { return !slotsql.AreNumbers(r.Table, r.Increment) }) {
		return c.Do(ctx, whole())
	}
	text := c.shared.byKey(rows[0].Table).rowsUpdate(rows, held)
	return c.DoApart(ctx, c.Settings.NoWaiting(), text, slotsql.RowNumbers(rows, held), whole)
}

// fillDirectly is [sendFilled] in turn, of a cold row.
func (c *Caller) fillDirectly(ctx context.Context, b *Batch) (sent bool, err error) {
	if b == nil || !c.cools(b) {
		return false, errNotDirect
	}
	send := func() error {
		sent, err = sendFilled(ctx, c)
		return err
	}
	var told bool
	if c.key, told = c.Filler.AppendKey(c.key[:0]); told {
		err = inTurn(ctx, c, b, string(c.key), c.Filler.Key, send)
	} else if err = errNotDirect; !b.keys.Some() {
		err = send()
	}
	return sent, err
}

// sendFilled sends the increment in the filler to its base row; sent is false for an argument
// without an exact text.
func sendFilled(ctx context.Context, c *Caller) (sent bool, err error) {
	whole := func() (text string) {
		text, sent = c.Filler.Direct(c.Settings.NoWaiting())
		return text
	}
	if apart, numbers := c.Filler.DirectApart(); apart != "" {
		return true, c.changeDirectly(1, func() (int64, error) { return c.DoApart(ctx, c.Settings.NoWaiting(), apart, numbers, whole) })
	}
	text := whole()
	if !sent {
		return false, nil
	}
	return true, c.changeDirectly(1, func() (int64, error) { return c.Do(ctx, text) })
}

// changeDirectly sends the UPDATE of so many base rows, or of none.
func (c *Caller) changeDirectly(rows int, send func() (int64, error)) error {
	inside := c.InTransaction() // a deadlock ends the transaction, with all that was in it
	affected, err := send()
	switch n := mysqlerr.Number(err); {
	case err == nil && affected == 0:
		return errRowGone
	case err == nil && affected != int64(rows): // and were as many when they were counted
		c.Watcher.NoteChange()
		if !inside {
			return nil
		}
		return c.AsDeadlock("a key names several rows meanwhile")
	case c.Refused(err):
		return errLocked
	case n == mysqlerr.ErrOutOfRange, mysqlerr.BadValue[n], n == mysqlerr.ErrDeadlock && !inside:
		return errNotDirect
	}
	return err
}
