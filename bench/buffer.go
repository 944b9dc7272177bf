package main

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// buffer adds up in memory and stores once an interval, as an application does that may lose
// an interval.
type buffer struct {
	*sqlStore
	stop context.CancelFunc

	storing sync.Mutex // one flush at a time
	mu      sync.Mutex
	waiting map[int]int64
}

func newBuffer(s *sqlStore) *buffer {
	ctx, stop := context.WithCancel(context.Background())
	b := &buffer{sqlStore: s, stop: stop, waiting: map[int]int64{}}
	go func() {
		for tick := time.Tick(s.way.flush); ; {
			select {
			case <-tick:
				_ = b.flush(context.WithoutCancel(ctx)) // what was not stored waits for the next
			case <-ctx.Done():
				return
			}
		}
	}()
	return b
}

func (b *buffer) increment(_ context.Context, id int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[id]++
	return nil
}

// flush puts back what it could not store. A COMMIT whose answer was lost may have stored it: to
// put it back may count twice, not to may lose.
func (b *buffer) flush(ctx context.Context) error {
	b.storing.Lock()
	defer b.storing.Unlock()
	b.mu.Lock()
	taken := b.waiting
	b.waiting = map[int]int64{}
	b.mu.Unlock()
	err := b.storeAll(ctx, taken)
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		for id, n := range taken {
			b.waiting[id] += n
		}
	}
	return err
}

// storeAll is one transaction, in the order of the keys.
func (b *buffer) storeAll(ctx context.Context, counts map[int]int64) error {
	if len(counts) == 0 {
		return nil
	}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		if _, err := tx.ExecContext(ctx, storePost, counts[id], id); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (b *buffer) close() {
	b.stop()
	_ = b.flush(context.Background())
	b.sqlStore.close()
}
