package stats

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Stats are what a connector counts of itself. The zero value is ready.
type Stats struct {
	Increments, Sums, Verbatim, Flushes, Pending, Reserved, Rollups, RollupErrors, Forgotten atomic.Int64

	rollupKeys, rollupSlots, rollupOrphans, rollupBusy, rollupLeft atomic.Int64

	groups, guards histogram

	mu        sync.Mutex // for what is rare
	exact     map[string]int64
	errors    map[uint16]int64
	fallbacks map[string]*Fallback
}

var groupBounds = [...]int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}

// maxFallbacks bounds the texts that are kept.
const maxFallbacks = 100

// histogram counts sizes by groupBounds.
type histogram struct {
	counts [len(groupBounds) + 1]atomic.Int64
	sum    atomic.Int64
}

func (h *histogram) add(size int) {
	i, _ := slices.BinarySearch(groupBounds[:], int64(size))
	h.counts[i].Add(1)
	h.sum.Add(int64(size))
}

func (h *histogram) snapshot() Histogram {
	out := Histogram{Bounds: slices.Clone(groupBounds[:]), Counts: make([]int64, len(h.counts)), Sum: h.sum.Load()}
	for i := range h.counts {
		out.Counts[i] = h.counts[i].Load()
	}
	return out
}

// Group notes how many increments shared a commit.
func (s *Stats) Group(size int) { s.groups.add(size) }

// Guard notes how many guarded updates of a row shared one.
func (s *Stats) Guard(size int) { s.guards.add(size) }

// Exactly notes a statement that runs the exact way.
func (s *Stats) Exactly(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exact == nil {
		s.exact = map[string]int64{}
	}
	s.exact[reason]++
}

// Failed notes an error of the server.
func (s *Stats) Failed(number uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.errors == nil {
		s.errors = map[uint16]int64{}
	}
	s.errors[number]++
}

// Unheard takes back an error that no application gets to hear.
func (s *Stats) Unheard(number uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.errors[number]--; s.errors[number] <= 0 {
		delete(s.errors, number)
	}
}

// Fallback notes a text that was not understood, and reports whether it is new.
func (s *Stats) Fallback(digest, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.fallbacks[digest]; f != nil {
		f.Count++
		return false
	}
	if len(s.fallbacks) >= maxFallbacks {
		return false
	}
	if s.fallbacks == nil {
		s.fallbacks = map[string]*Fallback{}
	}
	s.fallbacks[digest] = &Fallback{digest, reason, 1}
	return true
}

// RolledUp adds what a rollup did to a table.
func (s *Stats) RolledUp(r RollupStatistics) {
	s.rollupKeys.Add(r.Keys)
	s.rollupSlots.Add(r.Slots)
	s.rollupOrphans.Add(r.Orphans)
	s.rollupBusy.Add(r.Busy)
	s.rollupLeft.Add(r.Left)
}

// Snapshot is what has been counted so far.
func (s *Stats) Snapshot() Statistics {
	out := Statistics{
		Increments: s.Increments.Load(), Sums: s.Sums.Load(), Verbatim: s.Verbatim.Load(),
		Pending: s.Pending.Load(), Reserved: s.Reserved.Load(), Flushes: s.Flushes.Load(),
		Groups: s.groups.snapshot(), Guards: s.guards.snapshot(),
		Rollups: RollupStatistics{
			Runs: s.Rollups.Load(), Errors: s.RollupErrors.Load(), Keys: s.rollupKeys.Load(), Slots: s.rollupSlots.Load(),
			Orphans: s.rollupOrphans.Load(), Busy: s.rollupBusy.Load(), Left: s.rollupLeft.Load(), Forgotten: s.Forgotten.Load(),
		},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Exact, out.Errors = maps.Clone(s.exact), maps.Clone(s.errors)
	for _, f := range s.fallbacks {
		out.Fallbacks = append(out.Fallbacks, *f)
	}
	slices.SortFunc(out.Fallbacks, func(a, b Fallback) int { return strings.Compare(a.Digest, b.Digest) })
	return out
}
