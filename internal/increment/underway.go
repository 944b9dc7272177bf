package increment

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
)

// maxDirect bounds the increments of a table that are on their way to base rows side by
// side. Beyond it they gather: one COMMIT for many is quicker then.
const maxDirect = 8

// underWay are the keys of increments on their way to base rows, outside transactions, no two
// of one key. Those of that key wait, and meet it: of a row that everybody wants from one
// moment to the next, the batch of all others would be refused the lock, and each would go by
// itself.
type underWay struct {
	some   atomic.Int32 // places that are taken
	mu     sync.Mutex
	places [maxDirect]place
}

type place struct {
	taken bool
	key   []byte
	over  chan struct{} // closed when it is over; nil: nobody waits
}

// enter takes a place for an increment of a key; nil if there is none, or it is hot. met is
// closed when another one of the same key is over that is on its way.
func (u *underWay) enter(key string, hot bool) (own *place, met <-chan struct{}) {
	if hot && u.some.Load() == 0 {
		return nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range u.places {
		switch p := &u.places[i]; {
		case !p.taken:
			own = p
		case string(p.key) == key:
			if p.over == nil {
				p.over = make(chan struct{})
			}
			return nil, p.over
		}
	}
	if own == nil || hot {
		return nil, nil
	}
	u.some.Add(1)
	own.taken, own.key = true, append(own.key[:0], key...)
	return own, nil
}

// leave gives a place back.
func (u *underWay) leave(p *place) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.some.Add(-1)
	if p.taken = false; p.over != nil {
		close(p.over)
		p.over = nil
	}
}

// stalledDirect is for how long an increment of the same key is waited for: beyond it the
// connection may be dead.
const stalledDirect = 200 * time.Millisecond

// enter takes a place for an increment of a key that is not hot; nil where it has to go to a
// slot. One of the same key that is on its way is waited for, which is not for long, as that
// waits for no lock.
func (b *Batch) enter(ctx context.Context, id string, k func() catalog.Key) *place {
	own, met := b.direct.enter(id, b.keys.Hot(id))
	if met == nil {
		return own
	}
	b.keys.Meet(k())
	ctx, stop := context.WithTimeout(ctx, stalledDirect)
	defer stop()
	select {
	case <-met:
	case <-ctx.Done():
	}
	return nil
}
