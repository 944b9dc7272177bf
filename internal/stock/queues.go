package stock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/groupcommit"
)

// Queues are where updates of rows wait for those that are under way. The zero value is
// ready. A row has one for as long as somebody is in it, and a moment longer.
type Queues[P any] struct {
	last  atomic.Int64 // when a guarded update was in one of them, in nanoseconds
	mu    sync.Mutex
	all   map[string]*Queue[P]
	sweep int // how many there may be until those are looked for that are over
}

// Queue is that of one row.
type Queue[P any] struct {
	groupcommit.Group[P]
	Short   atomic.Bool // somebody has been refused of late
	users   int
	guarded int       // of them
	last    time.Time // when one of these was in it
}

const (
	moment = 10 * time.Millisecond // for so long behind a guarded update others join the next one: then they are quicker without
	stuck  = 50 * time.Millisecond // what takes longer waits for a lock that they need not wait for, perhaps
	lately = 20 * moment           // a queue that was neither entered nor left since is no use

	minSweep = 64
)

func (of *Queue[P]) over() bool { return of.users == 0 && time.Since(of.last) > moment }

// Enter is the queue of a row for a guarded update, which its caller has to leave.
func (q *Queues[P]) Enter(row string) *Queue[P] {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.all[row]
	if of == nil {
		if q.all == nil {
			q.all = map[string]*Queue[P]{}
		}
		of = &Queue[P]{}
		q.all[row] = of
	}
	of.users++
	of.guarded++
	q.note(of)
	return of
}

// note says that a guarded update is in a queue.
func (q *Queues[P]) note(of *Queue[P]) {
	of.last = time.Now()
	q.last.Store(of.last.UnixNano())
}

// Some reports whether guarded updates of any row were seen a moment ago: Beside is no use
// without.
func (q *Queues[P]) Some() bool { return time.Now().UnixNano()-q.last.Load() < int64(lately) }

// Beside is the queue of a row for an update that need not wait there: nil unless guarded ones
// are in it, or were a moment ago, and go on quickly.
func (q *Queues[P]) Beside(row string) *Queue[P] {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.all[row]
	if of == nil || of.guarded == 0 && time.Since(of.last) > moment || of.Since() > stuck {
		return nil
	}
	of.users++
	return of
}

// Leave ends what Enter, or Beside, has begun.
func (q *Queues[P]) Leave(of *Queue[P], guarded bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of.users--; guarded {
		of.guarded--
		q.note(of)
	}
	if len(q.all) <= max(q.sweep, minSweep) {
		return
	}
	for row, of := range q.all {
		if of.over() {
			delete(q.all, row)
		}
	}
	q.sweep = 2 * len(q.all)
}
