package watch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// Config is what a Watcher is made of.
type Config struct {
	Lookups     *lookups.Pool
	Specs       []catalog.Spec
	CreateSlots bool                                     // run the DDL that slots tables lack
	Adopted     func(*catalog.Schema)                    // called when another schema holds, before anybody is told
	Warn        func(cause, message string, args ...any) // logs, once for each cause
	Missing     func(names []string)                     // called with the listed tables and columns that are not there
}

// Watcher knows the schema. It is safe for concurrent use.
type Watcher struct {
	config Config

	current  atomic.Pointer[catalog.Schema]
	checked  atomic.Int64 // when it held last, by clock
	partRead atomic.Int64 // when it, or a part of it, was read last, likewise
	looked   atomic.Int64 // when it was asked last whether DDL has begun, at least
	epoch    atomic.Int64 // one for each change of the schema, which a statement must not miss
	learned  atomic.Int64 // the epoch that current is of
	ddl      atomic.Int64 // statements so far
	errors   atomic.Int64 // readings that have failed
	wanted   sync.Map     // columns that increments want as touch columns, by their names
	work     sync.WaitGroup

	mu              sync.Mutex // guards what follows
	running, queued *reading   // nil if there is none
	stopReading     context.CancelFunc
	altered         alterations

	last    lastReading // used by the reading that is under way
	refused refusals    // of DDL; likewise
}

// New returns a Watcher that has read nothing yet.
func New(config Config) *Watcher {
	return &Watcher{config: config, refused: refusals{}}
}

// Fixed returns a Watcher of a schema that stays as it is, and asks no server: for tests
// and benchmarks.
func Fixed(s *catalog.Schema) *Watcher {
	w := New(Config{Specs: s.Specs})
	w.current.Store(s)
	w.checked.Store(int64(forever))
	return w
}

// forever is later than any reading of the clock.
const forever = 100 * 365 * 24 * time.Hour

// Current returns what is known of the schema; nil: nothing yet.
func (w *Watcher) Current() *catalog.Schema { return w.current.Load() }

// Schema returns what is known of the schema, and learns it if need be.
func (w *Watcher) Schema(ctx context.Context) (*catalog.Schema, error) {
	s, of := w.current.Load(), ofNone
	if w.Changed() {
		of = ofOurs
	}
	if age := w.Age(); s == nil || of == ofOurs || age > catalog.SchemaTooOld {
		now, err := w.read(ctx, of).wait(ctx)
		if s != nil && mysqlerr.Number(err) == mysqlerr.ErrLockWait && (of == ofNone || holds(ctx)) {
			return s, nil // see refresh and Holding
		}
		return now, err
	} else if age > catalog.SchemaAge && !w.config.Lookups.Retired() {
		w.read(ctx, ofNone)
	}
	return s, nil
}

// Changed reports whether the schema is known to have changed since it was learned.
func (w *Watcher) Changed() bool { return w.learned.Load() < w.epoch.Load() }

// Age is how long ago the schema held, as far as is known.
func (w *Watcher) Age() time.Duration { return catalog.Clock() - time.Duration(w.checked.Load()) }

// Looked is how long ago the schema, or a part of it, was read, and how long ago it was asked, at least,
// whether DDL has begun.
func (w *Watcher) Looked() (read, asked time.Duration) {
	now := catalog.Clock()
	return now - time.Duration(w.partRead.Load()), now - time.Duration(w.looked.Load())
}

// Expire has the schema be so old that whoever asks next waits for a look, as after a
// time without statements: for tests of what is done then.
func (w *Watcher) Expire() { w.checked.Store(int64(catalog.Clock() - 2*catalog.SchemaTooOld)) }

// Errors is how many readings have failed.
func (w *Watcher) Errors() int64 { return w.errors.Load() }

// NoteDDL counts a statement that may have changed any table, listed or not.
func (w *Watcher) NoteDDL() { w.ddl.Add(1) }

// DDL is how many such statements there were.
func (w *Watcher) DDL() int64 { return w.ddl.Load() }

// Retire retires the look-up connections too: from now on nobody waits for a reading but
// sessions that are still open, and one that is under way ends if there are none.
func (w *Watcher) Retire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.config.Lookups.Retire()
	if w.running != nil && !w.config.Lookups.InUse() {
		w.stopReading()
	}
}

// Wait waits for the reading that Retire has found under way.
func (w *Watcher) Wait() { w.work.Wait() }
