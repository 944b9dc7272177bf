package countermysql

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// several is how many of some keys one statement may name: as many as it carries, or
// fewer where the text for them, which has each once or more, might not fit into a packet.
func (c *conn) several(t *catalog.Table, carries int, keys iter.Seq[catalog.Key]) int {
	longest := 0
	for k := range keys {
		bytes := 0
		for _, v := range k {
			bytes += 2*len(v) + 64 // a text is sent in hexadecimal digits
		}
		longest = max(longest, bytes)
	}
	each := (longest + 128) * (2 + len(t.Counters) + len(t.Touch))
	return max(1, min(carries, c.session.packet/2/each))
}

// eachOf are the keys of what has one.
func eachOf[T any](all []T, of func(T) catalog.Key) iter.Seq[catalog.Key] {
	return func(yield func(catalog.Key) bool) {
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
	shared, err := c.shareRows(ctx, unsent)
	if err != nil {
		return err
	}
	for i, p := range unsent {
		t := p.t
		sorted := p.sorted()
		carries := plan.SendBatch
		if shared {
			carries = 1
		}
		for batch := range slices.Chunk(sorted, c.several(t, carries, eachOf(sorted, (*slotsql.RowIncrement).KeyOf))) {
			err := errNotDirect
			if shared || i == len(unsent)-1 && len(sorted) == 1 { // behind it no base row is waited for, with this one locked
				err = c.sendDirect(ctx, c.connector.batch(t, t.Spec.Name, t.Key), batch[0], false, "")
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
		if c.tx == nil {
			return nil
		}
		c.connector.stats.Flushes.Add(1)
		c.tx.sentAll(t) // should the commit fail and the transaction go on
	}
	x.sent = true
	return nil
}

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
func (c *conn) sendTable(ctx context.Context, t *catalog.Table, entries []*slotsql.RowIncrement) error {
	u := c.upsert(t, entries)
	text := u.Many
	if len(entries) == 1 {
		text = u.One
	}
	err := c.sendUpsert(ctx, text(), len(entries) == 1)
	switch {
	case err == nil:
		c.connector.slotted(c.connector.batch(t, t.Spec.Name, t.Key), entries)
	case otherKey[mysqlerr.Number(err)] && c.inTransaction():
		c.connector.changes.Add(1)
		return c.asDeadlock("the table " + t.String() + " has got another key meanwhile")
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
func (c *conn) sendUpsert(ctx context.Context, stmt string, one bool) error {
	inside := c.inTransaction() // a deadlock ends the transaction, with all that was in it
	for try := 0; ; try++ {
		affected, err := c.do(ctx, stmt)
		n := mysqlerr.Number(err)
		if rowGone(err) && !one || err == nil && affected == 0 && one || mysqlerr.BadValue[n] {
			return errRowGone // or so: the statement itself finds out
		}
		if n != mysqlerr.ErrDeadlock || try == maxRetries || inside {
			return err
		}
	}
}

// sendEach sends entries one by one. Where a row does not take one, it may have become
// NULL in some counter: then the base row takes the others. A row that is gone is
// looked up again by the application's own condition, in case another transaction has
// given it a new key; if there is none, the increment went with the row.
func (c *conn) sendEach(ctx context.Context, t *catalog.Table, entries []*slotsql.RowIncrement) error {
	for _, e := range entries {
		err := c.sendOrApply(ctx, t, e)
		if !errors.Is(err, errRowGone) {
			if err != nil {
				return err
			}
			continue
		}
		there, err := c.outside(ctx, "SELECT 1 FROM "+t.Base()+" WHERE "+t.Where(e.Key, t.Ref())) // to look for a row that is gone would lock its gap
		if err != nil {
			return err
		}
		if len(there) > 0 {
			switch _, err := c.takeKeys(ctx, t, map[string]catalog.Key{e.ID: e.Key}); {
			case errors.Is(err, errOtherSlots):
				if _, err := c.addToBase(ctx, t, e); err != nil {
					return err
				}
				continue
			case err != nil:
				return err
			}
			if c.transaction().pendingFor(t).get(e.ID) == nil {
				continue
			}
		}
		moved, err := c.findAgain(ctx, t, e)
		if err != nil {
			return err
		}
		if len(there) == 0 {
			c.transaction().missed(t, e.ID)
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
func (c *conn) addToBase(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement) (affected int64, err error) {
	name := t.Ref()
	var sets []string
	for i, col := range t.Counters {
		if ref := name + "." + sqltext.Quote(col.Name); e.Deltas[i] != 0 {
			sets = append(sets, ref+" = "+ref+" + "+col.FormatUnits(e.Deltas[i]))
		}
	}
	for i, col := range t.Touch {
		if ref := name + "." + sqltext.Quote(col.Name); e.Touch[i] != "" {
			sets = append(sets, ref+" = "+catalog.Later(ref, "CAST("+e.Touch[i]+" AS DATETIME(6))"))
		}
	}
	return c.do(ctx, c.unsnapshot()+"UPDATE "+t.Base()+slotsql.ForceKey(t)+" SET "+strings.Join(sets, ", ")+" WHERE "+t.Where(e.Key, name))
}

// applyEntry adds an entry to its base row, with all slots. What is pending for that key
// besides has been sent or will be.
func (c *conn) applyEntry(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement) error {
	p := c.transaction().pendingFor(t)
	other := p.get(e.ID)
	p.put(e)
	err := c.apply(ctx, t, []string{e.ID})
	if other != nil && other != e {
		p.put(other)
	}
	return err
}

// sendOrApply sends an entry, or adds it to its base row with all slots where its
// own slot would leave 64 bits.
func (c *conn) sendOrApply(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement) error {
	err := c.sendTable(ctx, t, []*slotsql.RowIncrement{e})
	if mysqlerr.Number(err) != mysqlerr.ErrOutOfRange {
		return err
	}
	return c.applyEntry(ctx, t, e)
}

// findAgain looks for the row of an entry that is no longer under its key, by
// each condition that the application found it by, and locks it.
func (c *conn) findAgain(ctx context.Context, t *catalog.Table, e *slotsql.RowIncrement) ([]*slotsql.RowIncrement, error) {
	var moved []*slotsql.RowIncrement
	for _, f := range e.Finds {
		rows, err := c.lock(ctx, t, sqltext.Quote(f.Name), t.Base()+" AS "+sqltext.Quote(f.Name), f.Where)
		if err != nil {
			return nil, err
		}
		to, left := make([]catalog.Key, len(rows)), f.Keys
		for i, r := range rows {
			to[i] = r.Key
		}
		if len(f.Keys) > 1 {
			var there [][]string
			for batch := range slices.Chunk(f.Keys, c.several(t, plan.SendBatch, slices.Values(f.Keys))) {
				some, err := c.outside(ctx, "SELECT "+t.SelectKey(t.Ref())+" FROM "+t.Base()+" WHERE "+t.WhereAny(batch, t.Ref()))
				if err != nil {
					return nil, err
				}
				there = append(there, some...)
			}
			left, to = without(f.Keys, there), without(to, f.Keys)
		}
		// Which has gone where can't be told, nor does it matter: each was added the same.
		if i := slices.IndexFunc(left, func(k catalog.Key) bool { return slices.Equal(k, e.Key) }); i >= 0 && i < len(to) {
			moved = append(moved, &slotsql.RowIncrement{ID: to[i].ID(), Key: to[i], Deltas: f.Deltas, Touch: e.Touch})
		}
	}
	return moved, nil
}

// without leaves out some keys.
func without[K ~[]string](keys []catalog.Key, out []K) []catalog.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k catalog.Key) bool {
		return slices.ContainsFunc(out, func(o K) bool { return slices.Equal([]string(o), []string(k)) })
	})
}
