package traffic

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

const (
	usualAfter = 4 // transactions
	mostUsual  = 16
	lateCosts  = 4 // so much as this many that were not
	soonIs     = 20 * time.Millisecond
	otherFor   = 10 * time.Minute
)

// Behind is what usually comes behind a plan's increment in its transaction, which commits
// soon. The zero value says nothing.
type Behind struct {
	last habit // no other increment
	only habit // nothing but increments
}

// habit is something that is known once it has been so some times, and mostly soon.
type habit struct {
	times atomic.Int32 // fewer for each that was late
	until atomic.Int64 // by clock: it was otherwise
}

func (h *habit) holds() bool { return h.times.Load() >= usualAfter && h.free() }

func (h *habit) free() bool { return int64(catalog.Clock()) >= h.until.Load() }

func (h *habit) breaks(until time.Duration) {
	h.times.Store(0)
	h.until.Store(int64(until))
}

func (h *habit) goesOn(soon bool) {
	switch n := h.times.Load(); { // one that somebody else adds meanwhile may be lost
	case !h.free():
	case soon:
		h.times.Store(min(n+1, mostUsual))
	default:
		h.times.Store(max(n-lateCosts, 0))
	}
}

// Last reports whether no other increment is expected before COMMIT.
func (b *Behind) Last() bool { return b.last.holds() }

// OnlyIncrements reports whether nothing else, if anything, is expected before COMMIT.
func (b *Behind) OnlyIncrements() bool { return b.only.holds() }

// Increment notes that another increment has come.
func (b *Behind) Increment() { b.last.breaks(catalog.Clock() + otherFor) }

// Other notes that a statement has come that is no increment, which is never forgotten.
func (b *Behind) Other() { b.only.breaks(math.MaxInt64) }

// Committed notes that nothing of this has come, or has been noted, and how long behind the
// transaction's first increment it commits.
func (b *Behind) Committed(behind time.Duration) {
	b.last.goesOn(behind <= soonIs)
	b.only.goesOn(behind <= soonIs)
}
