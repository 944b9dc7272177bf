package watch

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

// readingTimeout bounds a reading of the schema.
const readingTimeout = time.Minute

// reading is one reading of the schema. It goes on when the context of a
// statement that waits for it ends: the next statement needs it too.
type reading struct {
	ctx      context.Context          // of who asked first, for its values: a BeforeConnect may need them
	seeing   seeing                   // what who wants most has to see
	obstacle atomic.Pointer[obstacle] // that of the reading before it, until that has met one
	done     chan struct{}            // closed when there is an answer
	told     bool                     // there is
	schema   *catalog.Schema
	err      error
}

// obstacle is a table which somebody has locked exclusively, and which a reading waits for.
type obstacle struct {
	met chan struct{} // closed when there is one
	err error         // what the server says of it
}

// meets notes that the reading waits for a table.
func (o *obstacle) meets(err error) {
	if o.err == nil {
		o.err = err
		close(o.met)
	}
}

// seeing is whose changes somebody who waits for a reading has to see.
type seeing int

const (
	ofDDL    seeing = iota // what is known will do, unless DDL has begun since
	ofNone                 // what is known will do, if it still holds
	ofOurs                 // what this process has done just now; else what is known
	ofAnyone               // what anybody has done
)

func newReading(ctx context.Context, of seeing) *reading {
	return &reading{ctx: context.WithoutCancel(ctx), seeing: of, done: make(chan struct{})}
}

// tell ends the waiting; what is told first holds.
func (r *reading) tell(s *catalog.Schema, err error) {
	if !r.told {
		r.told, r.schema, r.err = true, s, err
		close(r.done)
	}
}

func (r *reading) wait(ctx context.Context) (*catalog.Schema, error) {
	o, met := r.obstacle.Load(), (<-chan struct{})(nil)
	if holds(ctx) {
		met = o.met
	}
	select {
	case <-r.done:
		return r.schema, r.err
	case <-met:
		return nil, o.err
	case <-ctx.Done():
		return nil, ctx.Err() // bare, as go-sql-driver returns it
	}
}

type holdingKey struct{}

// Holding is a context of who may keep DDL from tables, as everybody does in a transaction: he waits for
// no reading that waits for a table which somebody has locked, as that DDL may wait for him.
func Holding(ctx context.Context, inTransaction bool) context.Context {
	return context.WithValue(ctx, holdingKey{}, inTransaction)
}

func holds(ctx context.Context) bool { return ctx.Value(holdingKey{}) == true }

// read joins the reading that is under way. One that must see what was done just
// now begins after that; all who want it share it.
func (w *Watcher) read(ctx context.Context, of seeing) *reading {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.running == nil:
		w.begin(newReading(ctx, of))
	case of <= ofNone && of <= w.running.seeing: // it will do
	case w.queued == nil:
		w.queued = newReading(ctx, of)
		w.queued.obstacle.Store(w.running.obstacle.Load())
		return w.queued
	default:
		w.queued.seeing = max(w.queued.seeing, of)
		return w.queued
	}
	return w.running
}

// begin starts a reading; mu is held.
func (w *Watcher) begin(r *reading) {
	ctx, cancel := context.WithTimeout(r.ctx, readingTimeout)
	w.running, w.queued, w.stopReading = r, nil, cancel
	if o := r.obstacle.Load(); o == nil || o.err != nil {
		r.obstacle.Store(&obstacle{met: make(chan struct{})})
	}
	run := func() {
		defer cancel()
		s, err := w.refresh(ctx, r)
		if err == nil {
			w.looked.Store(int64(catalog.Clock()))
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		r.tell(s, err)
		w.running = nil
		if w.queued != nil {
			w.begin(w.queued)
		}
	}
	if w.config.Lookups.Retired() {
		go run() // for a transaction that is still open: Wait does not wait for it
	} else {
		w.work.Go(run)
	}
}
