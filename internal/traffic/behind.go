package traffic

import (
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

const (
	usualAfter = 4 // transactions in a row
	soonIs     = 20 * time.Millisecond
	otherFor   = 10 * time.Minute
)

// Behind is what usually comes behind a plan's increment in its transaction, which commits
// soon. The zero value says nothing.
type Behind struct {
	nothing habit // but COMMIT
	counts  habit // but increments
}

// habit is something that is known once it has been so some times in a row.
type habit struct {
	times atomic.Int32
	until atomic.Int64 // by clock: it was otherwise
}

func (h *habit) holds() bool { return h.times.Load() >= usualAfter && h.free() }

func (h *habit) free() bool { return int64(catalog.Clock()) >= h.until.Load() }

func (h *habit) breaks() {
	h.times.Store(0)
	h.until.Store(int64(catalog.Clock() + otherFor))
}

func (h *habit) goesOn(soon bool) {
	switch n := h.times.Load(); {
	case !soon:
		h.times.Store(0)
	case n < usualAfter && h.free():
		h.times.Add(1)
	}
}

// Nothing reports whether COMMIT is expected next.
func (b *Behind) Nothing() bool { return b.nothing.holds() }

// Counts reports whether nothing but increments, if anything, is expected before COMMIT.
func (b *Behind) Counts() bool { return b.counts.holds() }

// Increment notes that another increment has come.
func (b *Behind) Increment() { b.nothing.breaks() }

// Edit notes that a statement has come which takes locks in tables with counters.
func (b *Behind) Edit() { b.counts.breaks() }

// Committed notes that nothing of this has come, or has been noted, and how long behind the
// transaction's first increment it commits.
func (b *Behind) Committed(behind time.Duration) {
	b.nothing.goesOn(behind <= soonIs)
	b.counts.goesOn(behind <= soonIs)
}
