package buffer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// limit is how long a statement, or a transaction, of a flush, a look or a new connection may take before the connection
// counts as dead. A flush has many of them, as many as its rows need.
const limit = 30 * time.Second

func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, limit)
}

// farewell is how long the end may take: for a flush that is under way, for the last one, which waits for
// rows that others have locked, and for one second at least to take the flusher's row back.
const farewell = 10 * time.Second

// again is how long locked rows are left alone, while somebody waits for them.
const again = 20 * time.Millisecond

// restart is how long to wait, at first and at last, before the server is asked again for a place for flushes.
const (
	restart     = time.Second
	restartMost = 30 * time.Second
)

// maxKeys bounds the keys of a statement, or a transaction: its rows are locked until it ends.
const maxKeys = 500

// run flushes until the connector is closed.
func (b *Table) run() {
	for wait := restart; ; wait = min(2*wait, restartMost) {
		_, err := b.flusher.session(b.life)
		if err == nil && b.state.CompareAndSwap(starting, open) {
			break
		}
		if err != nil {
			b.fail(err)
			b.config.Warn(fmt.Sprint("buffer ", b.name(), mysqlerr.Number(err)), "countermysql: increments are not buffered yet", "table", b.name(), "error", err)
		}
		select {
		case <-b.stop:
			return
		case <-time.After(wait):
		}
	}
	tick := time.NewTicker(b.spec.Buffered.Every)
	defer tick.Stop()
	for {
		asked := false
		select {
		case <-b.stop:
			return
		case <-b.wake:
			asked = true
		case <-tick.C:
		}
		if !asked && b.keys.Load() == 0 && b.flusher.unsettled == nil {
			b.flusher.rest()
			continue
		}
		b.flush(b.life)
		if wait := b.pace(); asked && wait > 0 {
			select {
			case <-b.stop:
				return
			case <-time.After(wait):
			}
		}
	}
}

// pace is how long to leave the server alone behind a flush that was asked for: who asked may
// do so at once again.
func (b *Table) pace() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failed != nil:
		return 5 * again
	case b.left != none:
		return again
	}
	return 0
}

// close stores what waits and ends.
func (b *Table) close() error {
	b.mu.Lock()
	was := b.state.Swap(ending)
	if was == ending {
		b.mu.Unlock()
		return nil
	}
	close(b.stop)
	b.mu.Unlock()
	end, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	ctx, cancel := context.WithTimeout(end, farewell-time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, b.kill)() // a flush under way has no longer than the last one
	b.work.Wait()
	defer close(b.gone)
	for _, g := range b.generations() {
		g.close(false)
	}
	for ctx.Err() == nil && (b.keys.Load() > 0 || b.flusher.unsettled != nil) {
		if b.flush(ctx); b.keys.Load() == 0 {
			break
		}
		select { // rows are locked, or the server does not answer
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
	b.flusher.leave(end)
	err := b.abandon()
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w (closing takes %v at most)", err, farewell)
	}
	return err
}

// abandon counts as lost what waits at the end.
func (b *Table) abandon() error {
	n := int64(0)
	for _, e := range b.flusher.unsettled {
		b.noteLost(e.count, "nobody knows whether the last flush was stored")
		n += e.count
		b.end(e, func(*cell) {})
	}
	b.flusher.unsettled = nil
	for _, g := range b.generations() {
		all, _ := g.take()
		for _, e := range all {
			b.noteLost(e.count, "it could not be stored before the end")
			n += e.count
			b.end(e, func(*cell) {})
		}
	}
	if n == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil {
		return fmt.Errorf("countermysql: %d buffered increments of %s are lost: %w", n, b.name(), b.failed)
	}
	return fmt.Errorf("countermysql: %d buffered increments of %s are lost: their rows stayed locked", n, b.name())
}

// fail notes why a flush failed.
func (b *Table) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.figures.Failures++
	b.figures.Error = err.Error()
}

// flush stores what waits, but for what can't be stored now.
func (b *Table) flush(ctx context.Context) {
	f := &b.flusher
	b.begun.Add(1)
	some, err := b.flushAll(ctx)
	for _, e := range f.taken {
		if !e.decided && !slices.Contains(f.unsettled, e) {
			f.later(e)
		}
	}
	left := uint64(none)
	for _, e := range slices.Concat(f.left, f.unsettled) {
		left = min(left, e.since)
	}
	oldest := never
	for _, e := range f.unsettled { // what else is left waits in its cell again
		oldest = min(oldest, e.came)
	}
	f.taken, f.left = nil, nil
	b.forget()
	if err != nil {
		b.fail(err)
		b.config.Warn(fmt.Sprint("flush ", b.name(), mysqlerr.Number(err)), "countermysql: buffered increments could not be stored; they are tried again", "table", b.name(), "error", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended, b.left, b.failed = b.begun.Load(), left, err
	b.oldest, b.flushing = oldest, never
	if err == nil {
		b.figures.Error, b.figures.Flushed = "", time.Now()
		if some {
			b.figures.Flushes++
		}
	}
	b.tell()
}

// tell has all look who wait for a flush, or a place; mu is locked.
func (b *Table) tell() {
	close(b.done)
	b.done = make(chan struct{})
}

// flushAll settles what an earlier flush has left open, and stores what waits.
func (b *Table) flushAll(ctx context.Context) (some bool, err error) {
	f := &b.flusher
	if err := f.settle(ctx); err != nil {
		return false, err
	}
	if b.keys.Load() == 0 {
		return false, nil
	}
	t, err := b.tableNow(ctx)
	if err != nil {
		return false, err
	}
	for _, g := range b.generations() {
		all, first := g.take()
		f.taken = append(f.taken, all...)
		b.mu.Lock()
		b.flushing = min(b.flushing, first)
		b.mu.Unlock()
		rows := make([]*row, 0, len(all))
		for _, e := range all {
			if r := b.row(g.table, t, e); r != nil {
				rows = append(rows, r)
			}
		}
		slices.SortFunc(rows, func(x, y *row) int { return t.Key.Compare(x.increment.Key, y.increment.Key) })
		most := maxKeys
		if len(rows) > 0 {
			if own, err := f.session(ctx); err == nil {
				most = max(1, min(most, session.Several(&own.Settings, t, most, rows)))
			}
		}
		for batch := range slices.Chunk(rows, most) {
			some = true
			err := f.store(ctx, t, batch)
			if errors.Is(err, errUnsettled) && f.settle(ctx) == nil { // at once, as a caller of Flush may wait
				err = nil
			}
			if err != nil {
				return some, err
			}
			b.mu.Lock()
			b.tell() // there is place again, and the other rows may take long
			b.mu.Unlock()
		}
	}
	return some, nil
}

// tableNow is the table as it is now.
func (b *Table) tableNow(ctx context.Context) (*catalog.Table, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	s, err := b.config.Shared.Watcher.Schema(ctx)
	if err != nil {
		return nil, err
	}
	f := &b.flusher
	t := s.Lookup(b.spec.DB, b.spec.Name, "")
	if (t == nil || !catalog.Ready(t)) && time.Since(f.looked) > time.Second { // perhaps not any more: statements have the schema read, too
		f.looked = time.Now()
		if s, err = b.config.Shared.Watcher.Refresh(ctx); err != nil {
			return nil, err
		}
		t = s.Lookup(b.spec.DB, b.spec.Name, "")
	}
	if t == nil {
		return nil, fmt.Errorf("the table %s is not there", b.name())
	}
	return t, catalog.Unready(t)
}

// row is an entry as it is sent.
type row struct {
	*entry
	was       *catalog.Table // whose counters the entry has
	increment *slotsql.RowIncrement
}

func (r *row) KeyOf() catalog.Key { return r.increment.Key }

// row is an entry of a table as it was, for the table as it is; nil: there is nothing to send.
func (b *Table) row(was, t *catalog.Table, e *entry) *row {
	inc := &slotsql.RowIncrement{ID: e.cell.id, Key: strings.Split(e.cell.id, "\x00"), Deltas: e.deltas, Touch: make([]string, len(t.Touch))}
	if was != t {
		deltas, ok := translated(was, t, e.deltas)
		if !ok {
			b.lose(e, "the table's key or counters have changed")
			return nil
		}
		inc.Deltas = deltas
	}
	if !inc.Counts() { // all has cancelled out
		b.stored(e)
		return nil
	}
	return &row{e, was, inc}
}

// translated are the sums of a table's counters as they stand in a later version of it.
func translated(was, t *catalog.Table, deltas []int64) ([]int64, bool) {
	if !t.Key.SameAs(was.Key) {
		return nil, false
	}
	out := make([]int64, len(t.Counters))
	for i, d := range deltas {
		if d == 0 {
			continue
		}
		c := was.Counters[i]
		at := slices.IndexFunc(t.Counters, func(now *catalog.Column) bool {
			return strings.EqualFold(now.Name, c.Name) && now.Fraction() == c.Fraction()
		})
		if at < 0 {
			return nil, false
		}
		out[at] = d
	}
	return out, true
}

// lose ends an entry that can't be stored.
func (b *Table) lose(e *entry, reason string) {
	b.noteLost(e.count, reason)
	b.end(e, func(c *cell) { clear(c.known) })
}

// errUnsettled says that nobody knows yet whether rows were stored.
var errUnsettled = errors.New("the answer to a flush was lost; before the next one it is looked for")
