package traffic

import (
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

const (
	soleEnough = 4 // transactions in a row
	soleWithin = 20 * time.Millisecond
	severalFor = 10 * time.Minute
)

// Sole says whether the transactions that a plan's increment is in have no other, and
// commit soon behind it. The zero value says no.
type Sole struct {
	times   atomic.Int32
	several atomic.Int64 // by clock: until then they have others
}

// Holds reports whether the next is expected to be one of these.
func (o *Sole) Holds() bool { return o.times.Load() >= soleEnough && o.free() }

func (o *Sole) free() bool { return int64(catalog.Clock()) >= o.several.Load() }

// Several notes a transaction that has others.
func (o *Sole) Several() {
	o.times.Store(0)
	o.several.Store(int64(catalog.Clock() + severalFor))
}

// Committed notes one that has not, and how long behind the increment it commits.
func (o *Sole) Committed(behind time.Duration) {
	switch n := o.times.Load(); {
	case behind > soleWithin:
		o.times.Store(0)
	case n < soleEnough && o.free():
		o.times.Add(1)
	}
}
