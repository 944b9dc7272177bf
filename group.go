package countermysql

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Bounds of a batch. Equal parts count once.
const (
	maxBatchParts = 500
	maxBatchBytes = 1 << 20 // well below the smallest usual max_allowed_packet, 16 MiB
)

// group combines what many callers want to send. The first runs at once; those
// that arrive while it is under way wait, and go together on the connection of
// the one that has waited longest. Nobody waits for company. (Two batches under
// way at once were slower: each pays for a statement and a COMMIT.)
type group struct {
	mu      sync.Mutex
	current *lead // nil: nothing is under way
	waiting []*unit
}

// lead is the right to send. It passes on when what was sent has ended, or takes
// so long that the connection may be dead: the others can't wait for that.
type lead struct{ timer *time.Timer }

const stalled = 200 * time.Millisecond

// begin starts a lead.
func (g *group) begin() *lead {
	l := &lead{}
	l.timer = time.AfterFunc(stalled, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.pass(l)
	})
	g.current = l
	return l
}

// unit is what one caller sends: increments, added all or nothing, or a look-up.
type unit struct {
	parts []string // what equal units share
	bytes int

	entries []*entry
	look    lookup
	found   [][]string

	wake    chan struct{} // closed when it leads or has ended
	leads   *lead
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
	u := &unit{parts: parts, wake: make(chan struct{})}
	for _, p := range parts {
		u.bytes += len(p) + 64
	}
	return u
}

// fits reports whether a batch can hold the unit at all.
func (u *unit) fits() bool { return len(u.parts) <= maxBatchParts && u.bytes <= maxBatchBytes }

// do returns once the unit has ended. run sends a batch, which begins with the
// unit, on the caller's connection, and gives each its verdict.
func (g *group) do(ctx context.Context, u *unit, run func(batch []*unit)) verdict {
	g.mu.Lock()
	l := g.current
	if l == nil {
		l = g.begin()
	} else {
		g.waiting = append(g.waiting, u)
		g.mu.Unlock()
		select {
		case <-u.wake:
		case <-ctx.Done():
			g.mu.Lock()
			defer g.mu.Unlock()
			switch {
			case u.ended:
				return u.verdict
			case u.leads != nil:
				g.pass(u.leads)
			default: // withdrawn, or left to the batch that holds it
				u.left = true
				g.waiting = slices.DeleteFunc(g.waiting, func(w *unit) bool { return w == u })
			}
			return verdict{err: ctx.Err()}
		}
		g.mu.Lock()
		if u.ended {
			g.mu.Unlock()
			return u.verdict
		}
		l = u.leads
	}
	batch := g.take(u)
	g.mu.Unlock()
	returned := false
	defer func() {
		if !returned { // run panicked: nobody knows what became of the others
			for _, w := range batch[1:] {
				w.verdict = verdict{err: mysql.ErrInvalidConn}
			}
		}
		g.finish(l, batch[1:])
	}()
	run(batch)
	returned = true
	return u.verdict
}

// finish ends the units of a batch, or lets them go on waiting, and passes the lead.
func (g *group) finish(l *lead, batch []*unit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var again []*unit
	for _, w := range batch {
		switch {
		case !w.verdict.again:
			w.ended = true
			close(w.wake)
		case !w.left:
			w.verdict = verdict{}
			again = append(again, w)
		}
	}
	g.waiting = append(again, g.waiting...)
	if g.current == nil {
		g.current = l
	}
	g.pass(l)
}

// enter lets a caller in who sends by itself, without a unit, if nothing is
// under way. It has to leave.
func (g *group) enter() *lead {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current != nil {
		return nil
	}
	return g.begin()
}

func (g *group) leave(l *lead) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass(l)
}

// take makes a batch of the unit and of those that wait, in their order, until it is full.
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
	for len(g.waiting) > 0 {
		u := g.waiting[0]
		add(u)
		if len(seen) > maxBatchParts || bytes > maxBatchBytes {
			break
		}
		batch = append(batch, u)
		g.waiting[0] = nil
		g.waiting = g.waiting[1:]
	}
	return batch
}

// pass hands the lead to who has waited longest, if it has not been passed before.
func (g *group) pass(l *lead) {
	l.timer.Stop()
	if g.current != l {
		return
	}
	g.current = nil
	if len(g.waiting) == 0 {
		return
	}
	next := g.waiting[0]
	g.waiting[0] = nil
	g.waiting = g.waiting[1:]
	next.leads = g.begin()
	close(next.wake)
}
