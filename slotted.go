package countermysql

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// hotFor is for how long a key counts as hot after increments of it have met.
const hotFor = time.Second

// coolAfter is for how long a key is not incremented before its slots are folded.
const coolAfter = 300 * time.Millisecond

// maxSlotted bounds the keys that are remembered; the rollup knows the others.
const maxSlotted = 1 << 16

// slotted is what a process knows of keys to whose slots it has written: which are hot,
// and which it has to fold once they are not. The zero value knows none.
type slotted struct {
	some atomic.Bool // most tables have none: then nobody has to look
	mu   sync.Mutex
	keys map[string]*slottedKey
}

type slottedKey struct {
	key   catalog.Key
	met   time.Duration // when increments of it have met, by clock; 0: never
	wrote time.Duration // when it got a slot last; 0: it has none
	since time.Duration // when it got the first of those that it has
	tries int           // to fold it, in which its row was locked or gone
}

func (s *slotted) of(k catalog.Key) *slottedKey {
	id := k.ID()
	known := s.keys[id]
	if known == nil {
		if s.keys == nil {
			s.keys = map[string]*slottedKey{}
		}
		known = &slottedKey{key: slices.Clone(k)}
		s.keys[id] = known
		s.some.Store(true)
	}
	return known
}

// meet notes that increments of a key have met: in the process, or at the row's lock.
func (s *slotted) meet(k catalog.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) < maxSlotted {
		s.of(k).met = catalog.Clock()
	}
}

// hot reports whether increments of a key have met of late.
func (s *slotted) hot(k catalog.Key) bool {
	if !s.some.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.keys[k.ID()]
	return known != nil && known.met != 0 && catalog.Clock()-known.met < hotFor
}

// write notes keys that have got slots.
func (s *slotted) write(entries []*slotsql.RowIncrement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := catalog.Clock()
	for _, e := range entries {
		if e.Key != nil && len(s.keys) < maxSlotted {
			k := s.of(e.Key)
			if k.wrote == 0 {
				k.since = now
			}
			k.wrote, k.tries = now, 0
		}
	}
}

// cold takes out the keys that have slots and are not incremented any more, and forgets
// those that have none. rest reports whether there are others.
func (s *slotted) cold(most int) (keys []*slottedKey, rest bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := catalog.Clock()
	for id, k := range s.keys {
		switch {
		case k.wrote != 0 && now-k.wrote < coolAfter, k.wrote == 0 && now-k.met < hotFor, len(keys) == most:
			continue
		case k.wrote != 0:
			keys = append(keys, k)
		}
		delete(s.keys, id)
	}
	rest = len(s.keys) > 0
	s.some.Store(rest)
	return keys, rest
}

// statistics adds what is in slots.
func (s *slotted) statistics(sum *SlottedStatistics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := catalog.Clock()
	for _, k := range s.keys {
		if k.wrote != 0 {
			sum.Keys++
			sum.Oldest = max(sum.Oldest, now-k.since)
		}
	}
}

// maxCooling bounds how often a key is tried to be folded whose row is locked, or gone.
const maxCooling = 20

// keep takes back a key that could not be folded.
func (s *slotted) keep(k *slottedKey) {
	if k.tries++; k.tries >= maxCooling {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.of(k.key); now.wrote == 0 {
		now.wrote, now.since, now.tries = catalog.Clock(), k.since, k.tries
	}
}
