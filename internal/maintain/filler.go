package maintain

import (
	"context"
	"sync"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
)

const (
	fillBehind = 50 * time.Millisecond // behind the making of reserved rows they are filled
	fillByThen = time.Second           // also if those who came before are not over
)

// filling is what is to be moved from a base row to the key's reserved rows.
type filling struct {
	table   *catalog.Table
	key     catalog.Key
	counter *catalog.Column
	units   int64 // that each of them has to get at least
}

// filler fills reserved rows, one key after the other.
type filler struct {
	job
	mu    sync.Mutex
	queue []filling
}

// Fill moves units of a counter from a base row to the key's reserved rows, in the background, if
// each of them gets at least so many. It is for who was told to by traffic.Taking.Fill.
func (b *Background) Fill(t *catalog.Table, k catalog.Key, c *catalog.Column, units int64) {
	if !b.On() {
		b.Shared.Traffic.Of(t).Reserve.Filled(k, c.Name, nil, 0)
		return
	}
	b.filler.add(filling{t, k, c, units})
	b.ask(&b.filler.job, b.fillAll)
}

func (w *filler) add(of filling) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, of)
}

// next takes out of the queue what is to be filled next.
func (w *filler) next() (of filling, some bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return filling{}, false
	}
	of, w.queue = w.queue[0], w.queue[1:]
	return of, true
}

// fillAll fills what there is to fill.
func (b *Background) fillAll(ctx context.Context, w *worker) {
	for of, some := b.filler.next(); some; of, some = b.filler.next() {
		left, share, err := w.fill(ctx, of)
		b.Shared.Traffic.Of(of.table).Reserve.Filled(of.key, of.counter.Name, left, share)
		if err != nil {
			w.end() // its connection may be broken
		}
		if n := mysqlerr.Number(err); err != nil && ctx.Err() == nil && !mysqlerr.Passing[n] {
			b.note("filling reserved rows", err)
		}
	}
}

// fill fills the reserved rows of one key.
func (w *worker) fill(ctx context.Context, of filling) (left []int64, share int64, err error) {
	r, err := w.on(ctx, of.table)
	if err != nil {
		return nil, 0, err
	}
	made, enough := false, false
	if err := r.transaction(ctx, func() error {
		made, enough, err = r.make(ctx, of)
		return err
	}); err != nil || !enough {
		return nil, 0, err
	}
	if err := w.letPass(ctx, of, made); err != nil {
		return nil, 0, err
	}
	err = r.transaction(ctx, func() error {
		left, share, err = r.fill(ctx, of)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return left, share, nil
}

// letPass waits for those who have found no reserved rows to lock before the base row, and wait for that
// already, or are about to: they come before the filling, and whoever comes now finds them. In other
// processes they have a moment for that, if the rows have just been made.
func (w *worker) letPass(ctx context.Context, of filling, made bool) error {
	if made && !session.Pause(ctx, fillBehind) {
		return ctx.Err()
	}
	reserve, by := &w.Shared.Traffic.Of(of.table).Reserve, catalog.Clock()+fillByThen
	for reserve.Early(of.key.ID()) && catalog.Clock() < by {
		if !session.Pause(ctx, fillBehind) {
			return ctx.Err()
		}
	}
	return nil
}
