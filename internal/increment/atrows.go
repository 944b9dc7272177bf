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

// batchAtRows is [batchAtRow] for merged entries.
func batchAtRows(ctx context.Context, c *Caller, b *Batch, entries []*slotsql.RowIncrement) error {
	t := b.keys.Table
	if len(entries) > 1 && !asksSeveral(c, b) {
		return errNotDirect
	}
	for i, e := range entries {
		sameTimes := slices.EqualFunc(e.Touch, entries[0].Touch, func(x, y string) bool { return (x == "") == (y == "") }) // what nobody touches stays as it is
		if !e.Counts() || e.Key == nil || !sameTimes || i > 0 && t.Key.Compare(e.Key, entries[i-1].Key) == 0 {             // of different conditions, say
			return errNotDirect
		}
	}
	if e := entries[0]; len(entries) == 1 {
		return batchAtRow(ctx, c, b, e.KeyOf, func() error { return c.changeRow(ctx, b, e, true, slotsql.AsPlanned(t)) })
	}
	if !b.keys.Free(keysOf(entries)...) {
		return errNotDirect
	}
	text := c.Settings.NoWaiting() + b.upsert(c, entries).AtRows()
	if len(text) > c.Settings.Packet {
		return errNotDirect
	}
	err := patiently(ctx, func() bool { return true }, func() error {
		switch affected, err := c.Do(ctx, text); {
		case err == nil && affected == 0:
			return errNotDirect
		case err == nil && affected != int64(len(entries)): // a key names two rows meanwhile
			c.Watcher.NoteChange()
			return nil
		case c.Refused(err):
			return errLocked
		case err != nil && Undone(err):
			return errNotDirect
		default:
			return err
		}
	})
	if errors.Is(err, errLocked) {
		if locked, serr := stuck(ctx, c, b, entries, "FOR UPDATE SKIP LOCKED"); serr == nil && len(locked) > 0 { // or it was an index's entry
			entries = locked
		}
		b.keys.Refuse(keysOf(entries)...)
	}
	return err
}

func keysOf(entries []*slotsql.RowIncrement) []catalog.Key {
	keys := make([]catalog.Key, len(entries))
	for i, e := range entries {
		keys[i] = e.Key
	}
	return keys
}
