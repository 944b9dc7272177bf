package traffic

import (
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

const (
	lookAgain   = time.Second // a query is sent with sums at once for so long after a look that was thrown away, or a slot of our own
	countAgain  = time.Second // it is asked again after so long whether slots are few
	fewFor      = 3 * countAgain
	manyFor     = 10 * time.Second
	longLooking = 60 * lookAgain
	mostCredit  = 16
	newCredit   = 4 // where a look is the answer again
	vainCosts   = 2
	probeEvery  = 32
)

// Look says whether it pays to send a plan's look before its sums. The zero value says yes.
type Look struct {
	credit atomic.Int32  // grows with each that was the answer, and falls with each other
	passed atomic.Uint32 // so many were not sent for want of credit
	vain   atomic.Int64  // by clock: until then it is not sent
}

// Pays reports whether a look is to be sent: if less than a third are thrown away, which is
// about what they cost less than sums. Of queries that mostly meet slots one in 32 is sent
// as a look, to find out when that changes.
func (l *Look) Pays(now time.Duration) bool {
	if int64(now) < l.vain.Load() {
		return false
	}
	return l.credit.Load() >= 0 || l.passed.Add(1)%probeEvery == 0
}

// Pause sends none for a moment.
func (l *Look) Pause() { l.pause(lookAgain) }

// TooMany sends none for long: there were more rows than can be looked at.
func (l *Look) TooMany() {
	l.credit.Store(0)
	l.pause(longLooking)
}

// Told notes whether a look was the answer.
func (l *Look) Told(answered bool) {
	for {
		old := l.credit.Load()
		now := min(old+1, mostCredit)
		switch {
		case !answered:
			now = max(old-vainCosts, -vainCosts)
		case old < 0:
			now = newCredit
		}
		if l.credit.CompareAndSwap(old, now) {
			return
		}
	}
}

func (l *Look) pause(long time.Duration) { l.vain.Store(int64(catalog.Clock() + long)) }

// Slots is whether a table has had slots a moment ago. The zero value says no.
type Slots struct {
	until   atomic.Int64
	few     atomic.Int64 // until then they are few
	counted atomic.Int64 // until then nobody asks again
}

// Seen reports whether queries take the table to have some.
func (s *Slots) Seen(now time.Duration) bool { return int64(now) < s.until.Load() }

// See notes that it has some.
func (s *Slots) See() { s.until.Store(int64(catalog.Clock() + lookAgain)) }

// Few reports whether queries take them to be so few that they are told all together, and whether
// the caller is to count them: one at a time does.
func (s *Slots) Few(now time.Duration) (few, count bool) {
	until := s.counted.Load()
	count = int64(now) >= until && s.counted.CompareAndSwap(until, int64(now+countAgain))
	return int64(now) < s.few.Load(), count
}

// SeeFew notes that they are few, SeeMany that they are not.
func (s *Slots) SeeFew(now time.Duration) { s.few.Store(int64(now + fewFor)) }

func (s *Slots) SeeMany(now time.Duration) {
	s.few.Store(0)
	s.counted.Store(int64(now + manyFor))
}

// Forget notes that it has none any more.
func (s *Slots) Forget() { s.until.Store(0) }
