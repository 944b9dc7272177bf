package traffic

import (
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

const (
	aloneEnough = 4 // transactions in a row
	aloneHolds  = 20 * time.Millisecond
	severalFor  = 10 * time.Minute
)

// Alone says whether the transactions that a plan's increment is in have no other, and
// commit soon behind it. The zero value says no.
type Alone struct {
	times   atomic.Int32
	several atomic.Int64 // by clock: until then they have others
}

// Holds reports whether the next is expected to be one of these.
func (a *Alone) Holds() bool { return a.times.Load() >= aloneEnough && a.free() }

func (a *Alone) free() bool { return int64(catalog.Clock()) >= a.several.Load() }

// Several notes a transaction that has others.
func (a *Alone) Several() {
	a.times.Store(0)
	a.several.Store(int64(catalog.Clock() + severalFor))
}

// Committed notes one that has not, and how long behind the increment it commits.
func (a *Alone) Committed(behind time.Duration) {
	switch n := a.times.Load(); {
	case behind > aloneHolds:
		a.times.Store(0)
	case n < aloneEnough && a.free():
		a.times.Add(1)
	}
}
