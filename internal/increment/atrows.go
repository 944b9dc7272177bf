package increment

import (
	"context"
	"errors"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// batchAtRow sends a batch of one key to its base row, unless others had that locked a moment ago:
// the process has no other batch under way, so its increments don't wait for each other there, and
// leave no slots that all reads would have to add up. For a moment a fold may have the row, or an
// increment that has just not met the others. Of another unique key, which somebody may have dropped,
// a slot tells whether it names several rows.
func batchAtRow(ctx context.Context, c *Caller, b *Batch, keyOf func() catalog.Key, send func() error) error {
	if !asksRows(c, b) {
		return errNotDirect
	}
	k := keyOf()
	if k == nil || !b.keys.Free(k) {
		return errNotDirect
	}
	err := patiently(ctx, func() bool { return true }, send)
	if errors.Is(err, errLocked) {
		b.keys.Refuse(k)
	}
	return err
}

// asksRows reports whether a batch may go to base rows.
func asksRows(c *Caller, b *Batch) bool {
	return c.cools(b) && slices.Equal(b.keys.By, b.keys.Table.Key)
}

// asksSeveral is asksRows for several rows. MySQL would wait for who has but an index's entries locked, with
// all the batch's rows.
func asksSeveral(c *Caller, b *Batch) bool {
	t := b.keys.Table
	return asksRows(c, b) && (t.MariaDB || !catalog.ChangesIndex(t))
}

// free reports whether nobody had one of their rows locked a moment ago.
func (b *Batch) free(entries []*slotsql.RowIncrement) bool {
	return !slices.ContainsFunc(entries, func(e *slotsql.RowIncrement) bool { return !b.keys.Free(e.Key) })
}

// alike reports whether one UPDATE can change the rows of merged entries: each is of another row, and all touch
// the same columns. What an entry does not touch is to stay as it is.
func alike(t *catalog.Table, entries []*slotsql.RowIncrement) bool {
	for i, e := range entries {
		if !e.Counts() || e.Key == nil || !slotsql.TouchAlike(e.Touch, entries[0].Touch) || i > 0 && t.Key.Compare(e.Key, entries[i-1].Key) == 0 {
			return false
		}
	}
	return true
}

// batchAtRows is [batchAtRow] for merged entries.
func batchAtRows(ctx context.Context, c *Caller, b *Batch, entries []*slotsql.RowIncrement) error {
	t := b.keys.Table
	if e := entries[0]; len(entries) == 1 && e.Counts() {
		return batchAtRow(ctx, c, b, e.KeyOf, func() error { return c.changeRow(ctx, b, e, true, slotsql.AsPlanned(t)) })
	}
	if !asksSeveral(c, b) || !alike(t, entries) || !b.free(entries) {
		return errNotDirect
	}
	text := c.Settings.NoWaiting() + b.upsert(c, entries).AtRows()
	if len(text) > c.Settings.Packet {
		return errNotDirect
	}
	err := patiently(ctx, func() bool { return true }, func() error {
		return c.changeDirectly(len(entries), func() (int64, error) { return c.Do(ctx, text) })
	})
	switch {
	case errors.Is(err, errRowGone): // one of them, or two have one row
		return errNotDirect
	case errors.Is(err, errLocked):
		if locked, serr := stuck(ctx, c, b, entries, "FOR UPDATE SKIP LOCKED"); serr == nil && len(locked) > 0 { // or it was an index's entry
			entries = locked
		}
		for _, e := range entries {
			b.keys.Refuse(e.Key)
		}
	}
	return err
}
