package traffic

import (
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

const (
	lookAgain   = time.Second // a query is sent with sums at once for so long after a look that was thrown away
	longLooking = 60 * lookAgain
	mostCredit  = 8
	vainCosts   = 2
)

// Look says whether it pays to send a plan's look before its sums. The zero value says yes.
type Look struct {
	credit atomic.Int32 // grows by one with each that was the answer, and falls by two with each other
	vain   atomic.Int64 // by clock: until then it is not sent
}

// Pays reports whether a look is to be sent.
func (l *Look) Pays(now time.Duration) bool { return int64(now) >= l.vain.Load() }

// Pause sends none for a moment.
func (l *Look) Pause() { l.pause(lookAgain) }

// TooMany sends none for long: there were more rows than can be looked at.
func (l *Look) TooMany() {
	l.credit.Store(0)
	l.pause(longLooking)
}

// Told notes whether a look was the answer.
func (l *Look) Told(answered bool) {
	switch {
	case answered:
		if l.credit.Load() < mostCredit {
			l.credit.Add(1)
		}
	case l.credit.Add(-vainCosts) < 0:
		l.credit.Store(0)
		l.Pause()
	}
}

func (l *Look) pause(long time.Duration) { l.vain.Store(int64(catalog.Clock() + long)) }

// Slots is whether a table has had slots a moment ago. The zero value says no.
type Slots struct{ until atomic.Int64 }

// Seen reports whether queries take the table to have some.
func (s *Slots) Seen(now time.Duration) bool { return int64(now) < s.until.Load() }

// See notes that it has some.
func (s *Slots) See() { s.until.Store(int64(catalog.Clock() + lookAgain)) }

// Forget notes that it has none any more.
func (s *Slots) Forget() { s.until.Store(0) }
