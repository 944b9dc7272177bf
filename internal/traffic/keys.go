package traffic

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

// CoolAfter is for how long a key is not incremented before its slots are folded.
const CoolAfter = 300 * time.Millisecond

// maxKeys bounds the keys that are remembered; the rollup knows the others.
const maxKeys = 1 << 16

// Keys is what a process knows of a table's keys to whose slots it has written: which are
// hot, and which it has to fold once they are not. Without more than a table it knows none.
type Keys struct {
	Table *catalog.Table
	By    catalog.KeyColumns // one of its unique keys

	some atomic.Bool // most tables have none: then nobody has to look
	mu   sync.Mutex
	keys map[string]*ColdKey
}

// ColdKey is one of them.
type ColdKey struct {
	Key   catalog.Key
	met   time.Duration // when increments of it have met, by clock; 0: never
	wrote time.Duration // when it got a slot last; 0: it has none
	since time.Duration // when it got the first of those that it has
	tries int           // to fold it, in which its row was locked or gone
}

func (s *Keys) of(k catalog.Key) *ColdKey {
	id := k.ID()
	known := s.keys[id]
	if known == nil {
		if s.keys == nil {
			s.keys = map[string]*ColdKey{}
		}
		known = &ColdKey{Key: slices.Clone(k)}
		s.keys[id] = known
		s.some.Store(true)
	}
	return known
}

// Meet notes that increments of a key have met: in the process, or at the row's lock.
func (s *Keys) Meet(k catalog.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) < maxKeys {
		s.of(k).met = catalog.Clock()
	}
}

// Hot reports whether increments of the key with an id have met of late.
func (s *Keys) Hot(id string) bool {
	if !s.some.Load() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.keys[id]
	return known != nil && known.met != 0 && catalog.Clock()-known.met < hotFor
}

// Write notes keys that have got slots.
func (s *Keys) Write(entries []*slotsql.RowIncrement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := catalog.Clock()
	for _, e := range entries {
		if e.Key != nil && len(s.keys) < maxKeys {
			k := s.of(e.Key)
			if k.wrote == 0 {
				k.since = now
			}
			k.wrote, k.tries = now, 0
		}
	}
}

// Cold takes out the keys that have slots and are not incremented any more, and forgets
// those that have none. rest reports whether there are others.
func (s *Keys) Cold(most int) (keys []*ColdKey, rest bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := catalog.Clock()
	for id, k := range s.keys {
		switch {
		case k.wrote != 0 && now-k.wrote < CoolAfter, k.wrote == 0 && now-k.met < hotFor, len(keys) == most:
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

// Some reports whether there may be any.
func (s *Keys) Some() bool { return s.some.Load() }

// Slotted is how many keys have slots, and for how long the oldest has.
func (s *Keys) Slotted() (keys int, oldest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := catalog.Clock()
	for _, k := range s.keys {
		if k.wrote != 0 {
			keys, oldest = keys+1, max(oldest, now-k.since)
		}
	}
	return keys, oldest
}

// maxCooling bounds how often a key is tried to be folded whose row is locked, or gone.
const maxCooling = 20

// Keep takes back a key that could not be folded.
func (s *Keys) Keep(k *ColdKey) {
	if k.tries++; k.tries >= maxCooling {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.of(k.Key); now.wrote == 0 {
		now.wrote, now.since, now.tries = catalog.Clock(), k.since, k.tries
	}
}
