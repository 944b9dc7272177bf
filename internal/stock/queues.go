package stock

import (
	"sync"
	"sync/atomic"

	"github.com/countermysql/countermysql/internal/groupcommit"
)

// Queues are where updates of rows wait for those that are under way. The zero value is
// ready. A row has one for as long as somebody is in it.
type Queues[P any] struct {
	mu  sync.Mutex
	all map[string]*Queue[P]
}

// Queue is that of one row.
type Queue[P any] struct {
	groupcommit.Group[P]
	Short atomic.Bool // somebody has been refused of late
	users int
}

// Enter is the queue of a row, which its caller has to leave.
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
	return of
}

// Leave forgets the queue with its last user.
func (q *Queues[P]) Leave(row string, of *Queue[P]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of.users--; of.users == 0 {
		delete(q.all, row)
	}
}
