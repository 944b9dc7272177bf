package traffic

import (
	"slices"
	"sync"
	"time"
)

const (
	claimWait    = 10 * time.Millisecond // longer than most transactions that commit soon
	claimWaiting = 5                     // more go to slots
)

// Claims are the rows of a table that transactions of the process change, or are about to: who wants
// one, too, waits a moment for its transaction to end, instead of being refused the lock. Nobody waits
// here for long, whatever he has locked, so that nothing is wrong if the other one waits for him.
type Claims struct {
	mu  sync.Mutex
	all map[string]*claim // by key
}

// claim is that of one row.
type claim struct {
	of      *Claims
	id      string
	waiting int
	stalled bool          // nobody waits any more
	ended   chan struct{} // nil: nobody has waited
}

// Take claims a row, until h is released; false where another transaction keeps it, or done is closed.
func (s *Claims) Take(done <-chan struct{}, id string, h *Held) bool {
	if slices.ContainsFunc(h.claims, func(c *claim) bool { return c.of == s && c.id == id }) {
		return true
	}
	return s.wait(done, id, func() {
		c := &claim{of: s, id: id}
		if s.all == nil {
			s.all = map[string]*claim{}
		}
		s.all[id] = c
		h.claims = append(h.claims, c)
	})
}

// Wait waits for who has claimed a row; false where he keeps it.
func (s *Claims) Wait(done <-chan struct{}, id string) bool { return s.wait(done, id, func() {}) }

// wait calls then once nobody has claimed a row.
func (s *Claims) wait(done <-chan struct{}, id string, then func()) bool {
	var over <-chan time.Time
	for {
		c, free := s.queue(id, then)
		switch {
		case free:
			return true
		case c == nil:
			return false
		case over == nil:
			timer := time.NewTimer(claimWait)
			defer timer.Stop()
			over = timer.C
		}
		select {
		case <-c.ended:
			continue
		case <-over:
			s.leave(c, true)
		case <-done:
			s.leave(c, false)
		}
		return false
	}
}

// queue is the claim to wait for, if any.
func (s *Claims) queue(id string, then func()) (c *claim, free bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = s.all[id]
	if c == nil {
		then()
		return nil, true
	}
	if c.stalled || c.waiting == claimWaiting {
		return nil, false
	}
	if c.waiting++; c.ended == nil {
		c.ended = make(chan struct{})
	}
	return c, false
}

func (s *Claims) leave(c *claim, stalled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.waiting--
	c.stalled = c.stalled || stalled
}

func (c *claim) end() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.all, c.id)
	if c.ended != nil {
		close(c.ended)
	}
}
