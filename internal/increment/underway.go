package increment

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/session"
)

// maxDirect bounds the increments of a table that are on their way to base rows side by
// side. Beyond it they gather: one COMMIT for many is quicker then.
const maxDirect = 16

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
	over  *over // nil: nobody waits
}

// over is the end of an increment for which others wait.
type over struct {
	done    chan struct{}
	waiting int
}

// enter takes a place for an increment of a key; nil if there is none, or it is hot. met is
// another one of the same key that is on its way.
func (u *underWay) enter(key string, hot bool) (own *place, met *over) {
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
				p.over = &over{done: make(chan struct{})}
			}
			p.over.waiting++
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
		close(p.over.done)
		p.over = nil
	}
}

// stalledDirect is for how long an increment of the same key is waited for: beyond it the
// connection may be dead.
const stalledDirect = 200 * time.Millisecond

// maxWaiting bounds those of one key that go one after the other: more go together.
const maxWaiting = 3

// enter takes a place for an increment of a key that is not hot; nil where it has to go to a
// slot. One of the same key that is on its way is waited for, which is not for long, as that
// waits for no lock. Behind it the next of few goes.
func (b *Batch) enter(ctx context.Context, id string, k func() catalog.Key) *place {
	own, met := b.direct.enter(id, b.keys.Hot(id))
	if met == nil {
		return own
	}
	ctx, stop := context.WithTimeout(ctx, stalledDirect)
	defer stop()
	for met != nil {
		select {
		case <-met.done:
		case <-ctx.Done():
		}
		if ctx.Err() != nil || met.waiting > maxWaiting { // nobody adds himself behind the end
			b.keys.Crowd(k())
			return nil
		}
		own, met = b.direct.enter(id, b.keys.Hot(id))
	}
	return own
}

// patience is how long an increment waits for a row that somebody has locked, before it tries
// again: by holding nothing, and queueing for no lock.
var patience = []time.Duration{time.Millisecond, 3 * time.Millisecond}

// alone sends an increment outside transactions to its base row, beside others but those of its key.
func (b *Batch) alone(ctx context.Context, id string, k func() catalog.Key, send func() error) error {
	for try := 0; ; try++ {
		own := b.enter(ctx, id, k)
		if own == nil {
			return errNotDirect
		}
		err := b.sendFrom(own, send)
		if !errors.Is(err, errLocked) {
			return err
		}
		if try == len(patience) || !b.keys.Mild(k()) || !session.Pause(ctx, patience[try]) {
			b.keys.Meet(k())
			return err
		}
	}
}

func (b *Batch) sendFrom(own *place, send func() error) error {
	defer b.direct.leave(own)
	return send()
}
