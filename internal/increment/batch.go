package increment

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"

	"github.com/countermysql/countermysql/internal/groupcommit"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/traffic"
)

// Batch is what one group sends: requests of one table whose conditions call it by
// one name and give one of its unique keys.
type Batch struct {
	name  string
	group groupcommit.Group[[]*slotsql.RowIncrement]

	keys   traffic.Keys
	direct underWay
	texts  texts
}

// atRow is how an increment is tried at its base row.
type atRow uint8

const (
	atOnce     atRow = iota
	asCounted        // before, in a transaction: it may be by a key that the table has no more
	triedAtRow       // in vain
)

// together adds a request to slots in a transaction of its own, which it may share
// with requests of its affinity.
func (c *Caller) together(ctx context.Context, b *Batch, r *request, how atRow) groupcommit.Outcome {
	if v, ok := c.beside(ctx, b, r, how); ok {
		return v
	}
	return b.group.Do(ctx, r, func(requests []*request) groupcommit.Sending {
		return c.Leading(ctx, len(requests), session.Linger, func(ctx context.Context, c *Caller) {
			defer c.Leased.Release()
			if len(requests) > 1 && Dead(ctx, c, requests) {
				return
			}
			c.Stats.Group(len(requests))
			c.sendRequests(ctx, b, requests)
		})
	})
}

// beside sends a request of one cold key to its base row, beside whatever is under way; ok is
// false where it has to go to slots.
func (c *Caller) beside(ctx context.Context, b *Batch, r *request, how atRow) (v groupcommit.Outcome, ok bool) {
	if how == triedAtRow || len(r.Payload) != 1 {
		return v, false
	}
	e := r.Payload[0]
	if !b.takes(c, e) {
		return v, false
	}
	further := ""
	if how == asCounted {
		further = slotsql.AsPlanned(b.keys.Table)
	}
	err := inTurn(ctx, c, b, e.Key.ID(), e.KeyOf, func() error { return c.changeRow(ctx, b, e, true, further) })
	switch {
	case errors.Is(err, errRowGone):
		v = groupcommit.Outcome{Alone: true, Gone: true}
	case errors.Is(err, errNotDirect), err != nil && !errors.Is(err, driver.ErrBadConn) && Undone(err):
		return v, false
	default:
		v.Err = err
	}
	c.Stats.Group(1)
	return v, true
}

// request is what one caller wants to have added to slots, all or nothing.
type request = groupcommit.Request[[]*slotsql.RowIncrement]

// request is one of the connection's.
func (c *Caller) request(entries []*slotsql.RowIncrement) *request {
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = e.ID
	}
	return OfCaller(c, groupcommit.NewRequest(entries, parts...))
}

// OfCaller gives a request what it has of the connection.
func OfCaller[P any](c *Caller, r *groupcommit.Request[P]) *groupcommit.Request[P] {
	r.Affinity, r.Most = c.Initial.Kin, min(r.Most, c.Settings.Packet/2)
	return r
}

// sendRequests gives every request its outcome. Those of rows that somebody had locked a moment ago go to
// slots, apart from the others.
func (c *Caller) sendRequests(ctx context.Context, b *Batch, requests []*request) {
	several := asksSeveral(c, b)
	var free, others []*request
	for _, r := range requests {
		if several && b.free(r.Payload) {
			free = append(free, r)
		} else {
			others = append(others, r)
		}
	}
	sendTogether(ctx, c, b, requests[0], free)
	sendTogether(ctx, c, b, requests[0], others)
}

// sendTogether gives every request its outcome, on the leader's connection. What keeps the batch from being
// sent is left out once; if that does not help, each has to go by itself.
func sendTogether(ctx context.Context, c *Caller, b *Batch, leader *request, requests []*request) {
	for first := true; len(requests) > 0; first = false {
		entries := b.merge(requests)
		err := c.sendBatch(ctx, b, entries)
		if err == nil {
			return
		}
		failed := requests
		switch {
		case !Undone(err):
			Lost(ctx, leader, requests, err)
			return
		case first && len(requests) > 1:
			failed = c.culprits(ctx, b, entries, requests)
		}
		for _, u := range failed {
			u.Outcome.Alone = true
			u.Outcome.Gone = len(entries) == 1 && errors.Is(err, errRowGone)
		}
		requests = slices.DeleteFunc(slices.Clone(requests), func(r *request) bool { return r.Outcome.Alone })
	}
}

// Undone reports whether the server has refused or rolled back the statement.
// A connection that broke, or was killed, says nothing about that.
func Undone(err error) bool {
	n := mysqlerr.Number(err)
	return errors.Is(err, errRowGone) || n != 0 && !mysqlerr.Uncertain(n)
}

// sendBatch sends merged entries in one statement. It does not wait for a base
// row that somebody has locked: all other counters would wait with it.
func (c *Caller) sendBatch(ctx context.Context, b *Batch, entries []*slotsql.RowIncrement) error {
	if err := batchAtRows(ctx, c, b, entries); !errors.Is(err, errNotDirect) {
		return err
	}
	err := c.sendUpsert(ctx, b.upsert(c, entries).SQL(), len(entries) == 1)
	c.Refused(err)
	if err == nil {
		c.shared.Background.Slotted(&b.keys, entries)
	}
	return err
}

// waiting is the statement of one caller's entries, which waits for locks.
func (b *Batch) waiting(c *Caller, entries []*slotsql.RowIncrement) string {
	u := b.upsert(c, entries)
	u.Lock = b.keys.Table.Lock()
	return u.Many()
}

func (b *Batch) upsert(c *Caller, entries []*slotsql.RowIncrement) *slotsql.Upsert {
	u := c.upsert(b.keys.Table, entries)
	u.Name, u.Columns, u.Lock, u.Later = b.name, b.keys.By, b.keys.Table.NoWait(), true
	return u
}

// merge sums the entries of requests by key and condition, in canonical order. The
// requests keep their own: each may have to go by itself.
func (b *Batch) merge(requests []*request) []*slotsql.RowIncrement {
	if len(requests) == 1 && len(requests[0].Payload) == 1 {
		b.keys.Pass(requests[0].Payload[0].KeyOf)
		return requests[0].Payload
	}
	all, at, summed := make([]*slotsql.RowIncrement, 0, len(requests)), map[string]int{}, map[int]bool{}
	for _, u := range requests {
		for _, e := range u.Payload {
			i, known := at[e.ID]
			if known {
				b.keys.Meet(e.Key)
			}
			if known && !summed[i] {
				all[i], summed[i] = all[i].Clone(), true
			}
			if !known || !all[i].Add(e) { // the sum leaves 64 bits
				at[e.ID] = len(all)
				all = append(all, e)
			}
		}
	}
	for i, e := range all {
		if !summed[i] {
			b.keys.Pass(e.KeyOf)
		}
	}
	if slices.ContainsFunc(all, func(e *slotsql.RowIncrement) bool { return slices.Contains(e.Deltas, 0) }) { // perhaps although there were some
		for _, u := range requests {
			for _, e := range u.Payload {
				all = append(all, all[at[e.ID]].Uncancel(e)...)
			}
		}
	}
	slices.SortFunc(all, func(x, y *slotsql.RowIncrement) int { return b.keys.By.Compare(x.Key, y.Key) })
	return all
}

// stuck are the entries that keep a batch from being sent which locks rows so: theirs are gone, or locked by somebody.
func stuck(ctx context.Context, c *Caller, b *Batch, entries []*slotsql.RowIncrement, lock string) (found []*slotsql.RowIncrement, err error) {
	rows, err := c.Read(ctx, b.upsert(c, entries).Culprits(lock))
	for _, r := range rows {
		if n, err := strconv.Atoi(r[0]); err == nil {
			found = append(found, entries[n])
		}
	}
	return found, err
}

// culprits are the requests of such entries; all of them, if it can't be told.
func (c *Caller) culprits(ctx context.Context, b *Batch, entries []*slotsql.RowIncrement, requests []*request) []*request {
	stuck, err := stuck(ctx, c, b, entries, b.keys.Table.SkipLocked())
	if err != nil {
		return requests
	}
	failed := map[string]bool{}
	for _, e := range stuck {
		failed[e.ID] = true
	}
	found := slices.DeleteFunc(slices.Clone(requests), func(r *request) bool {
		return !slices.ContainsFunc(r.Payload, func(e *slotsql.RowIncrement) bool { return failed[e.ID] })
	})
	if len(found) == 0 {
		return requests
	}
	return found
}
