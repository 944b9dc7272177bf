package traffic

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// A key is hot while most of its last increments have met others, and for hotFor behind that: then its
// base row is tried again, as all reads add up what is in slots. What has not met any for metFor is
// forgotten.
const (
	hotFor     = 250 * time.Millisecond
	hotFrom    = 2. / 3
	mildBelow  = 0.25
	heatParts  = 16 // of its last increments one is such a part
	crowdParts = 4
	metFor     = time.Second
)

// coolAfter is for how long a hot key is not incremented before its slots are folded, and CoolSoon
// one that is not hot. Those of a key that stays hot are folded once the first is as old as coolOld,
// if its row is not locked: who reads base rows, and lists that are in their order, miss little.
const (
	coolAfter = 300 * time.Millisecond
	CoolSoon  = 5 * time.Millisecond
	coolOld   = time.Second
)

// apartFor is for how long keys are folded one by one since some, or one, have waited in vain for a lock that no row
// has, and stuckFor for how long that one is left alone.
const (
	apartFor = 10 * time.Second
	stuckFor = 5 * time.Second
)

// maxKeys bounds the keys that are remembered; the rollup knows the others.
const maxKeys = 1 << 16

// Keys is what a process knows of a table's keys to whose slots it has written: which are
// hot, and which it has to fold once they are not. Without more than a table it knows none.
type Keys struct {
	Table *catalog.Table
	By    catalog.KeyColumns // one of its unique keys

	some atomic.Bool // most tables have none: then nobody has to look
	mu   sync.Mutex
	keys map[string]*KnownKey
	out  []*KnownKey // that are being folded

	apart time.Duration // when a fold has waited in vain; 0: never
}

// KnownKey is what is known of one of them.
type KnownKey struct {
	Key     catalog.Key
	heat    float64       // the part of its last increments that have met others
	hotTill time.Duration // by clock; 0: it never was
	met     time.Duration // when increments of it have met, by clock; 0: never
	refused time.Duration // when a batch was refused its row's lock; 0: never
	wrote   time.Duration // when it got a slot last; 0: it has none
	since   time.Duration // when it got the first of those that it has
	tries   int           // to fold it, in which its row was locked or gone
	tried   time.Duration // the last of these
	stuck   time.Duration // when its fold has waited in vain; 0: it has not, of late
}

// of is what is known of a key; nil where there are too many.
func (s *Keys) of(k catalog.Key) *KnownKey {
	id := k.ID()
	known := s.keys[id]
	if known == nil && len(s.keys) < maxKeys {
		if s.keys == nil {
			s.keys = map[string]*KnownKey{}
		}
		known = &KnownKey{Key: slices.Clone(k)}
		s.keys[id] = known
		s.some.Store(true)
	}
	return known
}

// Crowd notes that many increments of a key have met.
func (s *Keys) Crowd(k catalog.Key) { s.meet(k, crowdParts) }

// Meet notes that increments of a key have met: in the process, or at the row's lock.
func (s *Keys) Meet(k catalog.Key) { s.meet(k, heatParts) }

func (s *Keys) meet(k catalog.Key, parts float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.of(k); known != nil {
		known.met = catalog.Clock()
		if known.heat += (1 - known.heat) / parts; known.heat >= hotFrom {
			known.hotTill = known.met + hotFor
		}
	}
}

// Pass notes that an increment of a key has met no other.
func (s *Keys) Pass(k func() catalog.Key) {
	if !s.some.Load() {
		return
	}
	id := k().ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.keys[id]; known != nil {
		known.heat -= known.heat / heatParts
	}
}

// Mild reports whether few increments of the key with an id meet others: one that does may try again.
func (s *Keys) Mild(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.keys[id]
	return known == nil || known.heat < mildBelow
}

// Hot reports whether increments of the key with an id go to slots: others do, too.
func (s *Keys) Hot(id string) bool {
	if !s.some.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.keys[id]
	return known != nil && known.hot(catalog.Clock())
}

// Refuse notes that a batch has been refused the lock of a key's row: a transaction has it, or another process.
func (s *Keys) Refuse(k catalog.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.of(k); known != nil {
		known.met = catalog.Clock()
		known.refused = known.met
	}
}

// Free reports whether a key's part of a batch is to be tried at its row.
func (s *Keys) Free(k catalog.Key) bool {
	if !s.some.Load() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.keys[k.ID()]
	return known == nil || known.refused == 0 || catalog.Clock()-known.refused >= metFor
}

func (k *KnownKey) hot(now time.Duration) bool { return k.hotTill != 0 && now < k.hotTill }

// ripe is when a key's slots are to be folded. Of another key than the primary one it is never
// known which have been.
func (s *Keys) ripe(k *KnownKey, now time.Duration) time.Duration {
	switch {
	case k.stuck != 0:
		return k.stuck + stuckFor
	case !slices.Equal(s.By, s.Table.Key):
		return k.wrote + coolAfter
	case k.hot(now):
		return min(k.wrote+coolAfter, max(k.since, k.tried)+coolOld)
	}
	return k.wrote + min(coolAfter, CoolSoon<<k.tries)
}

// Write notes keys that have got slots.
func (s *Keys) Write(entries []*slotsql.RowIncrement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := catalog.Clock()
	for _, e := range entries {
		if e.Key == nil {
			continue
		}
		if k := s.of(e.Key); k != nil {
			if k.wrote == 0 {
				k.since = now
			}
			k.wrote, k.tries = now, 0
		}
	}
}

// Cold takes out the keys that have slots and are not incremented any more, until Folded, and forgets
// those that have none. Of those that were stuck it is one, and the last: the others would wait for it.
// rest reports whether there are others, slotted whether these have slots.
func (s *Keys) Cold(most int) (keys []*KnownKey, rest, slotted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := catalog.Clock()
	if s.apart != 0 && now-s.apart < apartFor {
		most = 1
	}
	take := func(id string, k *KnownKey) {
		taken := *k
		keys, k.wrote, k.stuck = append(keys, &taken), 0, 0
		if now-k.met >= metFor {
			delete(s.keys, id)
		}
	}
	var stuck string
	for id, k := range s.keys {
		switch {
		case k.wrote == 0:
			if now-k.met >= metFor {
				delete(s.keys, id)
			}
		case now < s.ripe(k, now) || len(keys) == most:
			slotted = true
		case k.stuck != 0:
			slotted, stuck = slotted || stuck != "", id
		default:
			take(id, k)
		}
	}
	if stuck != "" && len(keys) < most {
		take(stuck, s.keys[stuck])
	} else if stuck != "" {
		slotted = true
	}
	rest = len(s.keys) > 0
	s.some.Store(rest)
	s.out = slices.Clone(keys)
	return keys, rest, slotted
}

// Some reports whether there may be any.
func (s *Keys) Some() bool { return s.some.Load() }

// Slotted is how many keys have slots, and for how long the oldest has.
func (s *Keys) Slotted() (keys int, oldest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := catalog.Clock()
	count := func(k *KnownKey) { keys, oldest = keys+1, max(oldest, now-k.since) }
	for _, k := range s.keys {
		if k.wrote != 0 {
			count(k)
		}
	}
	for _, k := range s.out {
		if now := s.keys[k.Key.ID()]; now == nil || now.wrote == 0 {
			count(k)
		}
	}
	return keys, oldest
}

// Stick notes that a fold has waited in vain, behind Folded: of several keys nobody knows for which.
func (s *Keys) Stick(keys []catalog.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := catalog.Clock()
	s.apart = now
	if len(keys) > 1 {
		return
	}
	if known := s.keys[keys[0].ID()]; known != nil {
		known.stuck = now
	}
}

// maxCooling bounds how often a key is tried to be folded whose row is locked, or gone.
const maxCooling = 20

// Folded ends what Cold has begun; left are those that could not be folded.
func (s *Keys) Folded(left []*KnownKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = nil
	for _, k := range left {
		if k.tries++; k.tries >= maxCooling {
			continue
		}
		if now := s.of(k.Key); now != nil && now.wrote == 0 {
			now.wrote, now.since, now.tries = catalog.Clock(), k.since, k.tries
			now.tried = now.wrote
		}
	}
}
