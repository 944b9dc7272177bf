package increment

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/session"
)

// maxDirect bounds the increments of a table that are on their way to base rows side by
// side. Beyond it they gather: one COMMIT for many is quicker then.
const maxDirect = 16

// maxWaiting bounds those of one key that go one after the other: more go together.
const maxWaiting = 3

// underWay are the keys of increments on their way to base rows, outside transactions, no two
// of one key. Those of that key wait: of a row that everybody wants from one moment to the
// next, the batch of all others would be refused the lock, and each would go by itself.
type underWay struct {
	some   atomic.Int32 // places that are taken
	mu     sync.Mutex
	places [maxDirect]place
}

// place is that of one, and then of those who wait for it, in their order.
type place struct {
	taken   bool
	stalled bool // nobody waits any more
	key     []byte
	waiting int
	next    chan struct{} // whose turn it is
	crowd   chan struct{} // closed when too many have waited; nil: nobody has waited yet
}

// enter takes a place for an increment of a key. Where it is another's who is to be waited for,
// next and crowd say how that ends; nil if there is none to take, or the key is hot.
func (u *underWay) enter(key string, hot bool) (p *place, next, crowd <-chan struct{}) {
	if hot && u.some.Load() == 0 {
		return nil, nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	var free *place
	for i := range u.places {
		switch p := &u.places[i]; {
		case !p.taken:
			free = p
		case string(p.key) == key && p.stalled:
			return nil, nil, nil
		case string(p.key) == key:
			if p.crowd == nil {
				p.next, p.crowd = make(chan struct{}, 1), make(chan struct{})
			}
			p.waiting++
			return p, p.next, p.crowd
		}
	}
	if free == nil || hot {
		return nil, nil, nil
	}
	u.some.Add(1)
	*free = place{taken: true, key: append(free.key[:0], key...)}
	return free, nil, nil
}

// leave gives a place to who has waited longest, or back: then all who wait go together.
func (u *underWay) leave(p *place) (wanted bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	wanted = p.waiting > 0
	if wanted && p.waiting <= maxWaiting {
		p.waiting--
		p.stalled = false
		p.next <- struct{}{}
		return wanted
	}
	u.some.Add(-1)
	if p.taken = false; p.crowd != nil {
		close(p.crowd)
	}
	return wanted
}

// withdraw ends the waiting for a place, for all others, too, if that is lost; mine reports that it
// has become one's own meanwhile.
func (u *underWay) withdraw(p *place, next, crowd <-chan struct{}, lost bool) (mine bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case <-next:
		return true
	case <-crowd: // it may be another's by now
		return false
	default:
	}
	p.waiting--
	p.stalled = p.stalled || lost
	return false
}

// stalledDirect is for how long an increment of the same key is waited for: beyond it the
// connection may be dead.
const stalledDirect = 200 * time.Millisecond

// enter takes a place for an increment of a key that is not hot; nil where it has to go to a
// slot. One of the same key that is on its way is waited for, which is not for long, as that
// waits for no lock.
func (b *Batch) enter(ctx context.Context, id string, k func() catalog.Key) (own *place, waited bool) {
	p, next, crowd := b.direct.enter(id, b.keys.Hot(id))
	if next == nil {
		return p, false
	}
	stalls := time.NewTimer(stalledDirect)
	defer stalls.Stop()
	mine := false
	select {
	case <-next:
		mine = true
	case <-crowd:
		b.keys.Crowd(k())
	case <-ctx.Done():
		mine = b.direct.withdraw(p, next, crowd, false)
	case <-stalls.C:
		mine = b.direct.withdraw(p, next, crowd, true)
	}
	if mine && b.keys.Hot(id) {
		b.direct.leave(p)
		mine = false
	}
	if !mine {
		return nil, true
	}
	return p, true
}

// patience is how long an increment waits for a row that somebody has locked, before it tries
// again: by holding nothing, and queueing for no lock.
var patience = []time.Duration{time.Millisecond, 3 * time.Millisecond}

// patiently sends to a base row until that is not locked, while again says so.
func patiently(ctx context.Context, again func() bool, send func() error) error {
	for try := 0; ; try++ {
		start := time.Now()
		err := send()
		if !errors.Is(err, errLocked) || try == len(patience) {
			return err
		}
		quick := time.Since(start) < stalledDirect // or it was no row's lock
		if !quick || !again() || !session.Pause(ctx, patience[try]) {
			return err
		}
	}
}

// inTurn sends an increment outside transactions to its base row, beside others but those of its key,
// and behind a transaction that has claimed it.
func inTurn(ctx context.Context, c *Caller, b *Batch, id string, k func() catalog.Key, send func() error) error {
	if slices.Equal(b.keys.By, b.keys.Table.Key) && !b.keys.Hot(id) && !c.Traffic.Of(b.keys.Table).Claims.Wait(ctx.Done(), id) {
		b.keys.Meet(k())
		return errNotDirect
	}
	err := patiently(ctx, func() bool { return b.keys.Mild(id) }, func() error {
		own, waited := b.enter(ctx, id, k)
		if own == nil {
			return errNotDirect
		}
		wanted, err := b.sendFrom(own, send)
		switch {
		case err == nil && waited && wanted: // three at once
			b.keys.Meet(k())
		case err == nil:
			b.keys.Pass(k)
		}
		return err
	})
	if errors.Is(err, errLocked) {
		b.keys.Meet(k())
	}
	return err
}

func (b *Batch) sendFrom(own *place, send func() error) (wanted bool, err error) {
	defer func() { wanted = b.direct.leave(own) }()
	return false, send()
}
