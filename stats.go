package countermysql

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/plan"
)

// Statistics are totals of a sql.DB since it was opened, but Pending, which is
// of now. They are not of one moment: each is read by itself.
type Statistics struct {
	// Statements that name a table with counters, by what became of them.
	Increments int64            // taken by slots, or pending until COMMIT
	Sums       int64            // queries whose counters were read as sums
	Exact      map[string]int64 // rolled up the rows concerned and ran as they are, by reason
	Verbatim   int64            // ran as they are

	// Fallbacks are the texts that run the exact way because they could not be
	// parsed or resolved: the first 100 that differ in more than their literals.
	Fallbacks []Fallback

	Pending int64     // increments of open transactions, which go to slots at COMMIT
	Flushes int64     // tables whose pending increments a COMMIT took to slots, but those of groups
	Groups  Histogram // of increments outside transactions, and of transactions of nothing else: how many shared a commit

	Rollups RollupStatistics
	Slotted SlottedStatistics

	// Degraded are the tables that others have changed so that they take no more
	// increments into slots, as far as is known, and why. They are as slow as on plain
	// MySQL.
	Degraded map[string][]string

	// Errors of the server in answer to statements on tables with counters, by
	// their numbers. The application got them, except where the driver tries again.
	Errors map[uint16]int64
}

// Fallback is a text that is not understood.
type Fallback struct {
	Digest string // the text, shortened and with ? for its literals
	Reason string
	Count  int64 // how often it was planned
}

// Histogram counts values by upper bounds.
type Histogram struct {
	Bounds []int64 // upper, inclusive, ascending
	Counts []int64 // one more than Bounds: the last is of what is above them all
	Sum    int64   // of the values
}

// RollupStatistics are totals of rollups, those of Rollup and those in the
// background alike.
type RollupStatistics struct {
	Runs    int64
	Errors  int64 // runs that ended with an error
	Keys    int64 // base rows that got the sum of their slots
	Slots   int64 // rows removed from slots tables
	Orphans int64 // rows removed whose base rows no longer existed
	Busy    int64 // keys left for later because somebody kept the base row locked
	Left    int64 // keys left because the base row can't take their slots
}

// SlottedStatistics are, of now, the keys whose slots this process has written and not
// folded since: the hot ones. With RollupNever it remembers none. At most 65,536 of a
// table are counted.
type SlottedStatistics struct {
	Keys   int64
	Oldest time.Duration // since the one that is in slots for longest got there; 0 without any
}

// Stats returns what the driver has done for db, which has to be countermysql's.
// It asks the server nothing. A db of a wrapper such as otelsql's is found
// through a connection the first time.
func Stats(db *sql.DB) (Statistics, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // for the connection, if one is needed
	defer cancel()
	c, err := connectorOf(ctx, db)
	if err != nil {
		return Statistics{}, err
	}
	out := c.stats.snapshot()
	out.Slotted = c.cooler.statistics()
	if s := c.current.Load(); s != nil {
		out.Degraded = s.Degraded()
	}
	return out, nil
}

// stats are what a connector counts of itself.
type stats struct {
	increments, sums, verbatim, flushes, pending atomic.Int64

	rollups, rollupErrors, rollupKeys, rollupSlots, rollupOrphans, rollupBusy, rollupLeft atomic.Int64

	groups   [len(groupBounds) + 1]atomic.Int64
	groupSum atomic.Int64

	mu        sync.Mutex // for what is rare
	exact     map[string]int64
	errors    map[uint16]int64
	fallbacks map[string]*Fallback
}

var groupBounds = [...]int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}

// maxFallbacks bounds the texts that are kept.
const maxFallbacks = 100

// batch notes how many increments shared a commit.
func (s *stats) batch(size int) {
	i, _ := slices.BinarySearch(groupBounds[:], int64(size))
	s.groups[i].Add(1)
	s.groupSum.Add(int64(size))
}

// plain notes a statement that runs as it is.
func (s *stats) plain(p *plan.Plan) {
	if p.Named {
		s.verbatim.Add(1)
	}
}

// exactly notes a statement that runs the exact way.
func (s *stats) exactly(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exact == nil {
		s.exact = map[string]int64{}
	}
	s.exact[reason]++
}

// failed notes an error of the server.
func (s *stats) failed(number uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.errors == nil {
		s.errors = map[uint16]int64{}
	}
	s.errors[number]++
}

// unheard takes back an error that no application gets to hear.
func (s *stats) unheard(number uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.errors[number]--; s.errors[number] <= 0 {
		delete(s.errors, number)
	}
}

// fallback notes a text that was not understood, and reports whether it is new.
func (s *stats) fallback(digest, reason string) bool {
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

// rolledUp adds what a rollup did to a table.
func (s *stats) rolledUp(r *RolledUp) {
	s.rollupKeys.Add(r.Keys)
	s.rollupSlots.Add(r.Slots)
	s.rollupOrphans.Add(r.Orphans)
	s.rollupBusy.Add(r.Busy)
	s.rollupLeft.Add(int64(len(r.Left)))
}

func (s *stats) snapshot() Statistics {
	out := Statistics{
		Increments: s.increments.Load(), Sums: s.sums.Load(), Verbatim: s.verbatim.Load(),
		Pending: s.pending.Load(), Flushes: s.flushes.Load(),
		Groups: Histogram{Bounds: slices.Clone(groupBounds[:]), Counts: make([]int64, len(s.groups)), Sum: s.groupSum.Load()},
		Rollups: RollupStatistics{
			Runs: s.rollups.Load(), Errors: s.rollupErrors.Load(), Keys: s.rollupKeys.Load(), Slots: s.rollupSlots.Load(),
			Orphans: s.rollupOrphans.Load(), Busy: s.rollupBusy.Load(), Left: s.rollupLeft.Load(),
		},
	}
	for i := range s.groups {
		out.Groups.Counts[i] = s.groups[i].Load()
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
