package stock

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/groupcommit"
)

// Queues are where updates of rows wait for those that are under way. The zero value is
// ready. A row has one for as long as somebody is in it, and until it is looked for.
type Queues[P any] struct {
	Supply Supply
	last   atomic.Int64 // when somebody was in one of them who has to wait, in nanoseconds
	mu     sync.Mutex
	all    map[string]*Queue[P]
	swept  time.Time
}

// Queue is that of one row.
type Queue[P any] struct {
	groupcommit.Group[P]
	Short atomic.Bool       // somebody has been refused of late
	Last  atomic.Pointer[P] // what was asked for last
	users int
	needs int       // the row: those of them that have to wait for it
	last  time.Time // when one of these was in it
}

const (
	moment = 10 * time.Millisecond // for so long behind one who has to wait others join the next one: then they are quicker without
	stuck  = 50 * time.Millisecond // what takes longer waits for a lock that they need not wait for, perhaps
	lately = 20 * moment           // a queue that was neither entered nor left since is no use

	manyQueues = 64 // from there on those that are over are looked for
)

// Enter is the queue of a row for who has to wait for it, and to leave it.
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
	of.needs++
	q.note(of)
	return of
}

// note says that somebody is in a queue who has to wait.
func (q *Queues[P]) note(of *Queue[P]) {
	of.last = time.Now()
	q.last.Store(of.last.UnixNano())
}

// Some reports whether those who have to wait for any row were seen a moment ago: Beside is no
// use without.
func (q *Queues[P]) Some() bool { return time.Now().UnixNano()-q.last.Load() < int64(lately) }

// Beside is the queue of a row for who need not wait there: nil unless others are in it who
// have to, or were a moment ago and many came, and go on quickly.
func (q *Queues[P]) Beside(row string) *Queue[P] {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.all[row]
	if of == nil {
		return nil
	}
	if busy, since := of.Busy(); since > stuck || of.needs == 0 && (!busy || time.Since(of.last) > moment) {
		return nil
	}
	of.users++
	return of
}

// Leave ends what Enter (needed), or Beside, has begun.
func (q *Queues[P]) Leave(of *Queue[P], needed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of.users--; needed {
		of.needs--
		q.note(of)
	}
	if len(q.all) <= manyQueues || time.Since(q.swept) < lately {
		return
	}
	q.swept = time.Now()
	for row, of := range q.all {
		if of.users == 0 && q.swept.Sub(of.last) > moment {
			delete(q.all, row)
		}
	}
}
