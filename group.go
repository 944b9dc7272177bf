package countermysql

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Bounds of a batch. Equal parts count once.
const (
	maxBatchParts = 500
	maxBatchBytes = 1 << 20 // or half of what a packet may hold
)

// group combines what many callers want to send. The first runs at once, with
// those that were ready to run beside it; those that arrive while it is under way
// wait, and go together on the connection of the one that has waited longest. No
// timer waits for company. (Several batches under way at once were slower: each
// pays for a statement and a COMMIT.)
type group struct {
	mu      sync.Mutex
	lead    turn // 0: nothing is under way
	last    turn // given out
	since   time.Time
	waiting []*unit
	watch   *time.Timer
	watched bool
}

// turn is the right to send. It passes on when what was sent has ended, or takes
// so long that the connection may be dead: the others can't wait for that.
type turn uint64

const stalled = 200 * time.Millisecond

// begin gives out a turn.
func (g *group) begin() turn {
	g.last++
	g.lead, g.since = g.last, time.Now()
	return g.lead
}

// wait queues a unit, and sees to it that somebody looks after the lead.
func (g *group) wait(u *unit) {
	g.waiting = append(g.waiting, u)
	if !g.watched {
		g.look()
	}
}

// look passes the lead on if it has stalled, and comes back as long as somebody waits.
func (g *group) look() {
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

// unit is what one caller sends: increments, added all or nothing, or a look-up.
type unit struct {
	parts []string // what equal units share
	bytes int
	kin   string // of its caller
	most  int    // bytes of a batch on its caller's connection

	entries []*entry
	look    lookup
	holds   bool // its transaction may hold what others wait for
	found   [][]string

	wake    chan struct{} // closed when it leads or has ended
	leads   turn          // 0: not yet
	ended   bool
	left    bool // its caller does not wait any more
	verdict verdict
}

// verdict is how a unit ended.
type verdict struct {
	alone bool // nothing was done; it has to be tried by itself
	gone  bool // with alone: its row is missing, or the like; waiting for a lock is no use
	again bool // nothing was sent; it goes on waiting
	err   error
}

func newUnit(parts ...string) *unit {
	u := &unit{parts: parts, most: maxBatchBytes, wake: make(chan struct{})}
	for _, p := range parts {
		u.bytes += len(p) + 64
	}
	return u
}

// fits reports whether a batch can hold the unit at all.
func (u *unit) fits() bool { return len(u.parts) <= maxBatchParts && u.bytes <= u.most }

// sending is a batch that is about to be sent: run does that, and gives each unit its
// verdict. Its caller may leave it when its own context ends, if leave is not nil and does
// not say that it is just over.
type sending struct {
	run   func()
	leave func() bool
}

// do returns once the unit has ended. prepare gets a batch, which begins with the unit,
// to be sent on the caller's connection.
func (g *group) do(ctx context.Context, u *unit, prepare func(batch []*unit) sending) verdict {
	g.mu.Lock()
	var l turn
	if g.lead == 0 {
		l = g.begin()
		g.mu.Unlock()
		runtime.Gosched() // others who are ready to run may come along
		g.mu.Lock()
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
				return u.verdict
			case u.leads != 0:
				g.pass(u.leads)
			default: // withdrawn, or left to the batch that holds it
				u.left = true
				g.waiting = slices.DeleteFunc(g.waiting, func(w *unit) bool { return w == u })
			}
			return verdict{err: ctx.Err()}
		}
		if u.ended { // it was written before wake was closed: nobody has to queue for the lock
			return u.verdict
		}
		l = u.leads
		g.mu.Lock()
	}
	batch := g.take(u)
	g.mu.Unlock()
	s := prepare(batch)
	if s.leave == nil || ctx.Done() == nil {
		g.send(l, batch, s)
		return u.verdict
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
		if s.leave() {
			return verdict{err: ctx.Err()}
		}
		panicked = <-over
	}
	if panicked != nil {
		panic(panicked)
	}
	return u.verdict
}

// send sends a batch and ends its units.
func (g *group) send(l turn, batch []*unit, s sending) {
	returned := false
	defer func() {
		if !returned { // run panicked: nobody knows what became of the others
			for _, w := range batch[1:] {
				w.verdict = verdict{err: mysql.ErrInvalidConn}
			}
		}
		g.finish(l, batch[1:])
	}()
	s.run()
	returned = true
}

// finish ends the units of a batch, or lets them go on waiting, and passes the
// lead: first, as everybody else waits for the next batch.
func (g *group) finish(l turn, batch []*unit) {
	g.mu.Lock()
	ended, again := batch[:0], []*unit(nil)
	for _, w := range batch {
		switch {
		case !w.verdict.again:
			w.ended = true
			ended = append(ended, w)
		case !w.left:
			w.verdict = verdict{}
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

// enter lets a caller in who sends by itself, without a unit, if nothing is
// under way. It has to leave.
func (g *group) enter() turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lead != 0 {
		return 0
	}
	return g.begin()
}

func (g *group) leave(l turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass(l)
}

// take makes a batch of the unit and of those of its kin that wait, in their
// order, until it is full.
func (g *group) take(first *unit) []*unit {
	batch := []*unit{first}
	if len(g.waiting) == 0 {
		return batch
	}
	seen, bytes := map[string]bool{}, 0
	add := func(u *unit) {
		for _, p := range u.parts {
			if !seen[p] {
				seen[p] = true
				bytes += len(p) + 64
			}
		}
	}
	add(first)
	left, full := g.waiting[:0], false
	for _, u := range g.waiting {
		if !full && u.kin == first.kin {
			add(u)
			full = len(seen) > maxBatchParts || bytes > first.most
		}
		if full || u.kin != first.kin {
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
func (g *group) pass(l turn) {
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
