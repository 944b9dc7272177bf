// Package groupcommit combines what many callers want to send at the same time: the first
// sends at once, those who arrive while that is under way wait and go together, in one
// statement and one COMMIT. It knows no SQL and no connection: a [Request] carries a
// payload of the caller's, and whoever leads is handed the batch to send.
//
//	Do → lead at once, or wait → take a batch → prepare, run → each request's Outcome
//
// What is sent is for its caller to say; how each request has ended, too. A lead that has
// stalled passes on, a caller whose context ends stops waiting, and no timer waits for
// company.
package groupcommit

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Bounds of a batch. Equal parts count once.
const (
	maxBatchParts = 500
	maxBatchBytes = 1 << 20 // or fewer, see Request.Most
	perPart       = 64      // bytes of a part beside its own
)

// Group combines what many callers want to send. The first runs at once, with
// those that were ready to run beside it, if the last had company; those that
// arrive while it is under way wait, and go together on the connection of the one
// that has waited longest. No timer waits for company. (Several batches under way
// at once were slower: each pays for a statement and a COMMIT.)
type Group[P any] struct {
	mu      sync.Mutex
	lead    Leadership // 0: nothing is under way
	last    Leadership // given out
	since   time.Time
	waiting []*Request[P]
	size    int // of the last batch
	watch   *time.Timer
	watched bool
}

// Leadership is the right to send; 0 is none. It passes on when what was sent has ended, or takes
// so long that the connection may be dead: the others can't wait for that.
type Leadership uint64

const stalled = 200 * time.Millisecond

// begin gives out the lead.
func (g *Group[P]) begin() Leadership {
	g.last++
	g.lead, g.since = g.last, time.Now()
	return g.lead
}

// wait queues a request, and sees to it that somebody looks after the lead.
func (g *Group[P]) wait(u *Request[P]) {
	g.waiting = append(g.waiting, u)
	if !g.watched {
		g.look()
	}
}

// look passes the lead on if it has stalled, and comes back as long as somebody waits.
func (g *Group[P]) look() {
	left := stalled - time.Since(g.since)
	if left <= 0 {
		g.pass(g.lead)
		left = stalled
	}
	if g.watched = len(g.waiting) > 0; !g.watched {
		return
	}
	if g.watch == nil {
		g.watch = time.AfterFunc(left, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.look()
		})
		return
	}
	g.watch.Reset(left)
}

// Request is what one caller sends, all or nothing. Its fields are the caller's, and of who
// sends it while that is so.
type Request[P any] struct {
	Payload  P
	Affinity string // only requests of the same go together
	Most     int    // bytes of a batch that its caller's connection takes
	Outcome  Outcome

	parts []string  // what equal requests share
	only  [1]string // which most have one of
	bytes int

	wake  chan struct{} // closed when it leads or has ended
	leads Leadership    // 0: not yet
	ended bool
	left  bool // its caller does not wait any more
}

// Outcome is how a request ended.
type Outcome struct {
	Alone bool // nothing was done; it has to be tried by itself
	Gone  bool // with Alone: to wait for a lock is no use
	Again bool // nothing was sent; it goes on waiting
	Err   error
}

// NewRequest is a request of some parts, which count once in a batch, however many
// requests have them.
func NewRequest[P any](payload P, parts ...string) *Request[P] {
	r := &Request[P]{Payload: payload, Most: maxBatchBytes, wake: make(chan struct{})}
	r.parts = append(r.only[:0], parts...)
	for _, p := range parts {
		r.bytes += len(p) + perPart
	}
	return r
}

// Fits reports whether a batch can hold the request at all.
func (r *Request[P]) Fits() bool { return len(r.parts) <= maxBatchParts && r.bytes <= r.Most }

// Sending is a batch that is about to be sent: Run does that, and gives each request its
// Outcome. Its caller may leave it when its own context ends, if Leave is not nil and does
// not say that it is just over.
type Sending struct {
	Run   func()
	Leave func() bool
	Lost  error // what the others get if Run panics: nobody knows what became of theirs
}

// Do returns once the request has ended. prepare gets a batch, which begins with the request,
// to be sent on the caller's connection.
func (g *Group[P]) Do(ctx context.Context, u *Request[P], prepare func(batch []*Request[P]) Sending) Outcome {
	g.mu.Lock()
	var l Leadership
	if g.lead == 0 {
		l = g.begin()
		if g.size > 1 { // others who are ready to run may come along
			g.mu.Unlock()
			runtime.Gosched()
			g.mu.Lock()
		}
	} else {
		g.wait(u)
		g.mu.Unlock()
		select {
		case <-u.wake:
		case <-ctx.Done():
			g.mu.Lock()
			defer g.mu.Unlock()
			switch {
			case u.ended:
				return u.Outcome
			case u.leads != 0:
				g.pass(u.leads)
			default: // withdrawn, or left to the batch that holds it
				u.left = true
				g.waiting = slices.DeleteFunc(g.waiting, func(w *Request[P]) bool { return w == u })
			}
			return Outcome{Err: ctx.Err()}
		}
		if u.ended { // it was written before wake was closed: nobody has to queue for the lock
			return u.Outcome
		}
		l = u.leads
		g.mu.Lock()
	}
	g.gather()
	batch := g.take(u)
	g.size = len(batch)
	g.mu.Unlock()
	if g.sendOrLeave(ctx, l, batch, prepare(batch)) {
		return Outcome{Err: ctx.Err()}
	}
	return u.Outcome
}

// sendOrLeave sends a batch; left reports that its caller has left it, as his context has ended.
func (g *Group[P]) sendOrLeave(ctx context.Context, l Leadership, batch []*Request[P], s Sending) (left bool) {
	if s.Leave == nil || ctx.Done() == nil {
		g.send(l, batch, s)
		return false
	}
	over := make(chan any, 1)
	go func() {
		defer func() { over <- recover() }()
		g.send(l, batch, s)
	}()
	var panicked any
	select {
	case panicked = <-over:
	case <-ctx.Done():
		if s.Leave() {
			return true
		}
		panicked = <-over
	}
	if panicked != nil {
		panic(panicked)
	}
	return false
}

// gather lets those come who are ready to: all of the last batch were told at once that it
// has ended, and many ask again. Else the first of them would go alone, and every other
// COMMIT would be one request's. It ends when nobody has come while it let others run.
func (g *Group[P]) gather() {
	for was := -1; was < len(g.waiting) && len(g.waiting)+1 < g.size; {
		was = len(g.waiting)
		g.mu.Unlock()
		runtime.Gosched()
		g.mu.Lock()
	}
}

// send sends a batch and ends its requests.
func (g *Group[P]) send(l Leadership, batch []*Request[P], s Sending) {
	returned := false
	defer func() {
		if !returned { // run panicked: nobody knows what became of the others
			for _, w := range batch[1:] {
				w.Outcome = Outcome{Err: s.Lost}
			}
		}
		g.finish(l, batch[1:])
	}()
	s.Run()
	returned = true
}

// finish ends the requests of a batch, or lets them go on waiting, and passes the
// lead: first, as everybody else waits for the next batch.
func (g *Group[P]) finish(l Leadership, batch []*Request[P]) {
	g.mu.Lock()
	ended, again := batch[:0], []*Request[P](nil)
	for _, w := range batch {
		switch {
		case !w.Outcome.Again:
			w.ended = true
			ended = append(ended, w)
		case !w.left:
			w.Outcome = Outcome{}
			again = append(again, w)
		}
	}
	g.waiting = append(again, g.waiting...)
	if g.lead == 0 {
		g.lead = l
	}
	g.pass(l)
	if !g.watched && len(g.waiting) > 0 {
		g.look()
	}
	g.mu.Unlock()
	for _, w := range ended {
		close(w.wake)
	}
}

// Enter lets a caller in who sends by itself, without a request, if nothing is under way
// and the last batch was of one: else others probably come, too, and would wait for him.
// It has to leave.
func (g *Group[P]) Enter() Leadership {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lead != 0 || g.size > 1 {
		return 0
	}
	return g.begin()
}

// Busy reports whether something is under way, and for how long it has been, or the last batch
// was of several.
func (g *Group[P]) Busy() (busy bool, since time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lead == 0 {
		return g.size > 1, 0
	}
	return true, time.Since(g.since)
}

// Leave passes the lead on.
func (g *Group[P]) Leave(l Leadership) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass(l)
}

// take makes a batch of the request and of those of its affinity that wait, in their
// order, until it is full.
func (g *Group[P]) take(first *Request[P]) []*Request[P] {
	batch := []*Request[P]{first}
	if len(g.waiting) == 0 {
		return batch
	}
	seen, bytes := map[string]bool{}, 0
	add := func(u *Request[P]) {
		for _, p := range u.parts {
			if !seen[p] {
				seen[p] = true
				bytes += len(p) + perPart
			}
		}
	}
	add(first)
	left, full := g.waiting[:0], false
	for _, u := range g.waiting {
		if !full && u.Affinity == first.Affinity {
			add(u)
			full = len(seen) > maxBatchParts || bytes > first.Most
		}
		if full || u.Affinity != first.Affinity {
			left = append(left, u)
		} else {
			batch = append(batch, u)
		}
	}
	clear(g.waiting[len(left):])
	g.waiting = left
	return batch
}

// pass hands the lead to who has waited longest, if it has not been passed before.
func (g *Group[P]) pass(l Leadership) {
	if g.lead != l {
		return
	}
	g.lead = 0
	if len(g.waiting) == 0 {
		return
	}
	next := g.waiting[0]
	g.waiting[0] = nil
	g.waiting = g.waiting[1:]
	next.leads = g.begin()
	close(next.wake)
}
