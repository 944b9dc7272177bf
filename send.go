package countermysql

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
)

// sendBatch is how many entries one statement carries.
const sendBatch = 500

// several is how many of some keys one statement may name: as many as it carries, or
// fewer where the text for them, which has each once or more, might not fit into a packet.
func (c *conn) several(t *table, carries int, keys iter.Seq[key]) int {
	longest := 0
	for k := range keys {
		bytes := 0
		for _, v := range k {
			bytes += 2*len(v) + 64 // a text is sent in hexadecimal digits
		}
		longest = max(longest, bytes)
	}
	each := (longest + 128) * (2 + len(t.counters) + len(t.touch))
	return max(1, min(carries, c.session.packet/2/each))
}

// eachOf are the keys of what has one.
func eachOf[T any](all []T, of func(T) key) iter.Seq[key] {
	return func(yield func(key) bool) {
		for _, v := range all {
			if !yield(of(v)) {
				return
			}
		}
	}
}

// ownSavepoint is a savepoint of ours.
const ownSavepoint = "countermysql_own"

// errRowGone says that a row to be incremented is missing or has become NULL.
var errRowGone = errors.New("countermysql: the row is gone")

// send sends the transaction's pending increments, table by table in canonical
// order. It is the last thing before COMMIT: when the transaction goes on after
// it, its own slots would show in its snapshot.
func (c *conn) send(ctx context.Context) error {
	x := c.open()
	if x == nil {
		return nil
	}
	x.due()
	x.dropEmpty()
	unsent := x.unsent()
	for i, p := range unsent {
		last := i == len(unsent)-1 && p.entries.len() == 1 // behind it nothing is waited for, with its row locked
		t := p.t
		sorted := p.sorted()
		for batch := range slices.Chunk(sorted, c.several(t, sendBatch, eachOf(sorted, (*entry).keyOf))) {
			err := errNotDirect
			if last {
				err = c.sendDirect(ctx, t.batch(t.spec.name, t.key), batch[0], false)
			}
			if errors.Is(err, errNotDirect) {
				err = c.sendTable(ctx, t, batch)
			}
			if errors.Is(err, errRowGone) || errorNumber(err) == errOutOfRange {
				err = c.sendEach(ctx, t, batch)
			}
			if err != nil {
				return err
			}
		}
		if c.tx == nil {
			return nil
		}
		c.connector.stats.flushes.Add(1)
		delete(c.tx.pending, t.String())
		c.tx.writtenTo(t).any, c.tx.inside = true, true // should the commit fail and the transaction go on
	}
	x.sent = true
	return nil
}

func (e *entry) keyOf() key { return e.key }

// sendOrRollBack sends before a statement that commits. What can't be sent as a whole
// is not committed in part, nor sent again.
func (c *conn) sendOrRollBack(ctx context.Context) error {
	err := c.send(ctx)
	if err != nil {
		c.ended()
		if rerr := c.rollBack(); rerr != nil {
			c.connector.log.Warn("countermysql: rolling back after a failed commit", "error", rerr)
		}
	}
	return err
}

// sendTable adds sorted entries to their slots in one strict statement.
func (c *conn) sendTable(ctx context.Context, t *table, entries []*entry) error {
	u := c.upsert(t, entries)
	text := u.many
	if len(entries) == 1 {
		text = u.one
	}
	err := c.sendUpsert(ctx, text(), len(entries) == 1)
	switch {
	case err == nil:
		c.connector.slotted(t.batch(t.spec.name, t.key), entries)
	case otherKey[errorNumber(err)] && c.inTransaction():
		c.connector.changes.Add(1)
		return c.asDeadlock("the table " + t.String() + " has got another key meanwhile")
	}
	return err
}

// otherKey are the errors of an upsert that was planned for another key.
var otherKey = map[uint16]bool{errNoColumn: true, errNoDefault: true}

// rowGone reports whether a statement for many entries failed because a row was
// not there, if it was not a slot that is full.
func rowGone(err error) bool {
	n := errorNumber(err)
	return n == errOutOfRange || n == errBadNull
}

// sendUpsert runs a statement for one entry or many. Outside a transaction it is
// sent again after a deadlock, which undid it.
func (c *conn) sendUpsert(ctx context.Context, stmt string, one bool) error {
	inside := c.inTransaction() // a deadlock ends the transaction, with all that was in it
	for try := 0; ; try++ {
		affected, err := c.do(ctx, stmt)
		n := errorNumber(err)
		if rowGone(err) && !one || err == nil && affected == 0 && one || badValue[n] {
			return errRowGone // or so: the statement itself finds out
		}
		if n != errDeadlock || try == maxRetries || inside {
			return err
		}
	}
}

// sendEach sends entries one by one. Where a row does not take one, it may have become
// NULL in some counter: then the base row takes the others. A row that is gone is
// looked up again by the application's own condition, in case another transaction has
// given it a new key; if there is none, the increment went with the row.
func (c *conn) sendEach(ctx context.Context, t *table, entries []*entry) error {
	for _, e := range entries {
		err := c.sendOrApply(ctx, t, e)
		if !errors.Is(err, errRowGone) {
			if err != nil {
				return err
			}
			continue
		}
		there, err := c.outside(ctx, "SELECT 1 FROM "+t.base()+" WHERE "+t.where(e.key, t.ref())) // to look for a row that is gone would lock its gap
		if err != nil {
			return err
		}
		if len(there) > 0 {
			switch _, err := c.takeKeys(ctx, t, map[string]key{e.id: e.key}); {
			case errors.Is(err, errOtherSlots):
				if _, err := c.addToBase(ctx, t, e); err != nil {
					return err
				}
				continue
			case err != nil:
				return err
			}
			if c.transaction().pendingFor(t).entries.get(e.id) == nil {
				continue
			}
		}
		moved, err := c.findAgain(ctx, t, e)
		if err != nil {
			return err
		}
		if len(there) == 0 {
			c.transaction().missed(t, e.id)
		}
		for _, m := range moved {
			err := c.sendOrApply(ctx, t, m)
			if errors.Is(err, errRowGone) { // it is locked: NULL in some counter
				err = c.applyEntry(ctx, t, m)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// addToBase adds an entry to its base row alone, as where another client has given the key
// another type: none of the slots can be told to be its own.
func (c *conn) addToBase(ctx context.Context, t *table, e *entry) (affected int64, err error) {
	name := t.ref()
	var sets []string
	for i, col := range t.counters {
		if ref := name + "." + quoteIdent(col.name); e.deltas[i] != 0 {
			sets = append(sets, ref+" = "+ref+" + "+col.formatUnits(e.deltas[i]))
		}
	}
	for i, col := range t.touch {
		if ref := name + "." + quoteIdent(col.name); e.touch[i] != "" {
			sets = append(sets, ref+" = "+later(ref, "CAST("+e.touch[i]+" AS DATETIME(6))"))
		}
	}
	return c.do(ctx, c.unsnapshot()+"UPDATE "+t.base()+t.forceKey()+" SET "+strings.Join(sets, ", ")+" WHERE "+t.where(e.key, name))
}

// applyEntry adds an entry to its base row, with all slots. What is pending for that key
// besides has been sent or will be.
func (c *conn) applyEntry(ctx context.Context, t *table, e *entry) error {
	p := c.transaction().pendingFor(t)
	other := p.entries.get(e.id)
	p.entries.set(e.id, e)
	err := c.apply(ctx, t, []string{e.id})
	if other != nil && other != e {
		p.entries.set(e.id, other)
	}
	return err
}

// sendOrApply sends an entry, or adds it to its base row with all slots where its
// own slot would leave 64 bits.
func (c *conn) sendOrApply(ctx context.Context, t *table, e *entry) error {
	err := c.sendTable(ctx, t, []*entry{e})
	if errorNumber(err) != errOutOfRange {
		return err
	}
	return c.applyEntry(ctx, t, e)
}

// findAgain looks for the row of an entry that is no longer under its key, by
// each condition that the application found it by, and locks it.
func (c *conn) findAgain(ctx context.Context, t *table, e *entry) ([]*entry, error) {
	var moved []*entry
	for _, f := range e.finds {
		rows, err := c.lock(ctx, t, quoteIdent(f.name), t.base()+" AS "+quoteIdent(f.name), f.where)
		if err != nil {
			return nil, err
		}
		to, left := make([]key, len(rows)), f.keys
		for i, r := range rows {
			to[i] = r.key
		}
		if len(f.keys) > 1 {
			var there [][]string
			for batch := range slices.Chunk(f.keys, c.several(t, sendBatch, slices.Values(f.keys))) {
				some, err := c.outside(ctx, "SELECT "+t.selectKey(t.ref())+" FROM "+t.base()+" WHERE "+t.whereAny(batch, t.ref()))
				if err != nil {
					return nil, err
				}
				there = append(there, some...)
			}
			left, to = without(f.keys, there), without(to, f.keys)
		}
		// Which has gone where can't be told, nor does it matter: each was added the same.
		if i := slices.IndexFunc(left, func(k key) bool { return slices.Equal(k, e.key) }); i >= 0 && i < len(to) {
			moved = append(moved, &entry{id: to[i].id(), key: to[i], deltas: f.deltas, touch: e.touch})
		}
	}
	return moved, nil
}

// without leaves out some keys.
func without[K ~[]string](keys []key, out []K) []key {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool {
		return slices.ContainsFunc(out, func(o K) bool { return slices.Equal([]string(o), []string(k)) })
	})
}
