package buffer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/stats"
)

// Config is what the buffers of a connector are made of.
type Config struct {
	Shared  *session.Shared
	Create  bool                                                       // the table of flushes, where it is missing
	Slotted func(t *catalog.Table, increments []*slotsql.RowIncrement) // called when they are in slots
	Warn    func(cause, message string, args ...any)                   // logs, once for each cause
}

// Buffers are those of a connector's tables.
type Buffers struct {
	config *Config
	tables []*Table
}

// New returns the buffers of the tables that have one.
func New(specs []catalog.Spec, config *Config) *Buffers {
	b := &Buffers{config: config}
	for _, spec := range specs {
		if spec.Buffered.Every > 0 {
			b.tables = append(b.tables, newTable(spec, config))
		}
	}
	return b
}

// Of is the buffer of a table; nil: it has none.
func (b *Buffers) Of(t *catalog.Table) *Table {
	if b == nil {
		return nil
	}
	for _, of := range b.tables {
		if of.spec.DB == t.Spec.DB && of.spec.Name == t.Spec.Name {
			return of
		}
	}
	return nil
}

// FlushTable is [Table.Flush] of a table that may have none.
func (b *Buffers) FlushTable(ctx context.Context, t *catalog.Table) error {
	if of := b.Of(t); of != nil {
		return of.Flush(ctx)
	}
	return nil
}

// Flush returns when all that was added before is stored.
func (b *Buffers) Flush(ctx context.Context) error {
	return b.each(func(t *Table) error { return t.Flush(ctx) })
}

// Close stores what waits and ends. From then on increments are not buffered.
func (b *Buffers) Close() error { return b.each((*Table).close) }

// each has all tables do something at the same time.
func (b *Buffers) each(do func(*Table) error) error {
	errs := make([]error, len(b.tables))
	var work sync.WaitGroup
	for i, t := range b.tables {
		work.Go(func() { errs[i] = do(t) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// Statistics are those of the tables, by database.table; nil without buffers.
func (b *Buffers) Statistics() map[string]stats.BufferedStatistics {
	var all map[string]stats.BufferedStatistics
	for _, t := range b.tables {
		if all == nil {
			all = map[string]stats.BufferedStatistics{}
		}
		all[t.name()] = t.statistics()
	}
	return all
}

// Table is the buffer of one table. It is safe for concurrent use.
type Table struct {
	spec   catalog.Spec
	config *Config

	state   atomic.Int32
	current atomic.Pointer[generation] // nil: nothing was added yet
	begun   atomic.Uint64              // flushes
	keys    atomic.Int64               // of which something waits or is under way

	wake chan struct{} // somebody wants a flush
	stop chan struct{} // closed when the connector is
	gone chan struct{} // closed at the end
	work sync.WaitGroup

	life context.Context // of what the goroutine sends: it ends with the time that close has
	kill context.CancelFunc

	mu       sync.Mutex // guards what follows
	old      []*generation
	past     int64         // acknowledged by generations that are no more
	done     chan struct{} // closed when a flush has ended, or some of its rows are stored
	ended    uint64        // flushes
	left     uint64        // what waits of what was acknowledged up to the last flush came when so many had begun
	failed   error         // of the last flush
	oldest   time.Duration // when the first came of what the last flush has left unsettled
	flushing time.Duration // the same of what the flush that is under way has taken
	figures  stats.BufferedStatistics

	flusher flusher // used by who flushes
}

// none of what a flush has met is left.
const none = math.MaxUint64

// The states of a Table.
const (
	idle int32 = iota
	starting
	open
	ending
)

func newTable(spec catalog.Spec, config *Config) *Table {
	b := &Table{spec: spec, config: config, wake: make(chan struct{}, 1), stop: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}), left: none, oldest: never, flushing: never}
	b.life, b.kill = context.WithCancel(context.Background())
	b.flusher = newFlusher(b)
	return b
}

func (b *Table) name() string { return b.spec.DB + "." + b.spec.Name }

// Every is how often it is flushed.
func (b *Table) Every() time.Duration { return b.spec.Buffered.Every }

// Open reports whether the buffer takes increments. The first who asks has it begin: it does
// when the server has a place for its flushes.
func (b *Table) Open() bool {
	switch b.state.Load() {
	case open:
		return true
	case idle:
		b.start()
	}
	return false
}

func (b *Table) start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.CompareAndSwap(idle, starting) {
		b.work.Go(b.run)
	}
}

// Add adds an increment of a key, given by its id, and reports whether it did: else the row is not
// known to be there. Where too many keys wait it waits for a flush, or for the context's end.
func (b *Table) Add(ctx context.Context, t *catalog.Table, id []byte, deltas []int64) (bool, error) {
	for {
		g := b.generation(t)
		if g == nil {
			return false, nil
		}
		switch b.add(g, id, deltas) {
		case added:
			return true, nil
		case unknown:
			return false, nil
		case closed:
			if b.state.Load() == ending {
				return false, nil
			}
			continue
		}
		b.mu.Lock()
		done := b.done
		b.mu.Unlock()
		b.wakeUp()
		select {
		case <-done:
		case <-b.gone:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// Learn notes that the row of a key is there, and has a number in each counter to which a
// statement has just added.
func (b *Table) Learn(t *catalog.Table, id []byte, deltas []int64) {
	if g := b.generation(t); g != nil {
		g.learn(id, deltas, max(fewKnown, 2*b.spec.Buffered.Keys/parts))
	}
}

// generation is that of a table; nil: the schema knows another one by now, or none.
func (b *Table) generation(t *catalog.Table) *generation {
	g := b.current.Load()
	if g != nil && g.table == t {
		return g
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if g = b.current.Load(); g != nil && g.table == t {
		return g
	}
	s := b.config.Shared.Watcher.Current()
	if b.state.Load() != open || s == nil || s.Lookup(b.spec.DB, b.spec.Name, "") != t {
		return nil
	}
	if g != nil {
		b.old = append(b.old, g)
	}
	g = newGeneration(t)
	b.current.Store(g)
	return g
}

// generations are those of which something may wait, the oldest first.
func (b *Table) generations() []*generation {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all()
}

// all is generations where mu is locked.
func (b *Table) all() []*generation {
	if g := b.current.Load(); g != nil {
		return append(b.old[:len(b.old):len(b.old)], g)
	}
	return nil
}

// forget lets go of old generations of which nothing waits.
func (b *Table) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kept []*generation
	for _, g := range b.old {
		if g.close(true) {
			acknowledged, _, _ := g.sums()
			b.past += acknowledged
		} else {
			kept = append(kept, g)
		}
	}
	b.old = kept
}

func (b *Table) wakeUp() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Flush returns when all that was added before is stored, or with an error.
func (b *Table) Flush(ctx context.Context) error {
	if s := b.state.Load(); s == idle || s == starting {
		return nil // nothing was added yet
	}
	before := b.begun.Load()
	lost := b.lost()
	for {
		b.mu.Lock()
		done, ended, left, failed := b.done, b.ended, b.left, b.failed
		b.mu.Unlock()
		if ended > before {
			switch {
			case failed != nil:
				return fmt.Errorf("countermysql: flushing %s: %w", b.name(), failed)
			case left > before:
				if n := b.lost() - lost; n > 0 {
					return fmt.Errorf("countermysql: flushing %s: %d increments are lost, Stats tells why", b.name(), n)
				}
				return nil
			}
		}
		b.wakeUp()
		select {
		case <-done:
		case <-b.gone:
			if b.keys.Load() > 0 {
				return fmt.Errorf("countermysql: flushing %s: it is closed", b.name())
			}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("countermysql: flushing %s: rows are locked by others, or it takes too long: %w", b.name(), ctx.Err())
		}
	}
}

func (b *Table) lost() (n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, lost := range b.figures.Lost {
		n += lost
	}
	return n
}

// statistics are those of now.
func (b *Table) statistics() stats.BufferedStatistics {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.figures
	out.Lost = maps.Clone(out.Lost)
	out.Acknowledged, out.Keys = b.past, b.keys.Load()
	first := min(b.oldest, b.flushing)
	for _, g := range b.all() {
		acknowledged, waiting, since := g.sums()
		out.Acknowledged, out.Waiting = out.Acknowledged+acknowledged, out.Waiting+waiting
		first = min(first, since)
	}
	if first != never && out.Waiting > 0 {
		out.Oldest = catalog.Clock() - first
	}
	if !out.Flushed.IsZero() {
		out.Age = time.Since(out.Flushed)
	}
	return out
}

// noteLost counts increments that could not be stored.
func (b *Table) noteLost(n int64, reason string) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	if b.figures.Lost == nil {
		b.figures.Lost = map[string]int64{}
	}
	b.figures.Lost[reason] += n
	b.mu.Unlock()
	b.config.Warn("lost "+b.name()+reason, "countermysql: buffered increments are lost", "table", b.name(), "increments", n, "reason", reason)
}
