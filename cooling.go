package countermysql

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/maintain"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/traffic"
)

// cooler folds the slots of keys that are no longer hot, those which this process has
// written: so that slots tables are small, and most of them empty. It waits for nobody,
// and rests for a multiple of the time that it works.
type cooler struct {
	mu      sync.Mutex
	batches map[*batch]bool // whose keys are to be folded
	wake    chan struct{}   // nil: it does not run yet
}

// coolingRest is for how many times as long as a fold took the cooler rests.
const coolingRest = 4

// cools reports whether slots are for hot rows only.
func (c *Connector) cools() bool { return c.config.Rollup != RollupNever }

// slotted notes that increments have gone to slots.
func (c *Connector) slotted(b *batch, entries []*slotsql.RowIncrement) {
	if !c.cools() || len(b.t.Key) == 0 || b.t.Galera {
		return
	}
	b.keys.Write(entries)
	c.cooler.mu.Lock()
	known := c.cooler.batches[b]
	if !known {
		if c.cooler.batches == nil {
			c.cooler.batches = map[*batch]bool{}
		}
		c.cooler.batches[b] = true
	}
	wake := c.cooler.wake
	c.cooler.mu.Unlock()
	switch {
	case wake == nil:
		c.startCooling()
	case !known:
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

func (c *Connector) startCooling() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cooler.mu.Lock()
	defer c.cooler.mu.Unlock()
	if c.cooler.wake != nil || c.lookups.Retired() || c.background == nil {
		return
	}
	c.cooler.wake = make(chan struct{}, 1)
	c.cooler.wake <- struct{}{}
	c.work.Go(func() { c.cool(c.background) })
}

// cool runs until the connector is closed.
func (c *Connector) cool(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.cooler.wake:
		}
		if err := c.coolAll(ctx); err != nil && ctx.Err() == nil {
			c.noteBackground("folding cold slots", err)
		}
	}
}

// coolAll folds until nothing is left to fold. After an error the rollup has to do it.
func (c *Connector) coolAll(ctx context.Context) error {
	var r *rollup
	defer func() {
		if r != nil {
			r.close()
		}
	}()
	for {
		if !pause(ctx, traffic.CoolAfter/2) {
			return nil
		}
		left := false
		for _, b := range c.cooler.all() {
			keys, rest := b.keys.Cold(fold.BatchKeys)
			if len(keys) > 0 {
				start := time.Now()
				err := c.coolKeys(ctx, &r, b, keys)
				if err != nil {
					c.cooler.forget()
					return err
				}
				if !pause(ctx, coolingRest*time.Since(start)) {
					return nil
				}
			} else if !rest && c.cooler.drop(b) {
				continue
			}
			left = true
		}
		if !left {
			return nil
		}
	}
}

// pause waits; false if the context ends.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// coolKeys folds some keys of one table.
func (c *Connector) coolKeys(ctx context.Context, r **rollup, b *batch, cold []*traffic.ColdKey) error {
	if *r == nil {
		var err error
		if *r, err = c.newRollup(ctx, b.t, 0); err != nil {
			return err
		}
	}
	(*r).Table, (*r).Out = b.t, &RolledUp{}
	slices.SortFunc(cold, func(x, y *traffic.ColdKey) int { return catalog.CompareKeys(b.cols, x.Key, y.Key) })
	keys := make([]catalog.Key, len(cold))
	for i, k := range cold {
		keys[i] = k.Key
	}
	keys = keys[:min(len(keys), (*r).Folder.Several(b.t, len(keys), slices.Values(keys)))]
	taken, err := (*r).Fold(ctx, b.cols, keys, "FOR UPDATE SKIP LOCKED")
	if err != nil && !mysqlerr.Passing[mysqlerr.Number(err)] {
		return fmt.Errorf("%s: %w", b.t, err)
	}
	c.stats.RolledUp(maintain.Statistics((*r).Out))
	if len(taken) == len(cold) {
		return nil
	}
	for _, k := range cold {
		if !taken[k.Key.ID()] { // by another unique key all count as left
			b.keys.Keep(k)
		}
	}
	return nil
}

func (w *cooler) all() []*batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*batch, 0, len(w.batches))
	for b := range w.batches {
		all = append(all, b)
	}
	return all
}

func (w *cooler) statistics() (sum SlottedStatistics) {
	for _, b := range w.all() {
		keys, oldest := b.keys.Slotted()
		sum.Keys, sum.Oldest = sum.Keys+int64(keys), max(sum.Oldest, oldest)
	}
	return sum
}

// drop forgets a batch without keys; false if it has got some.
func (w *cooler) drop(b *batch) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.keys.Some() {
		return false
	}
	delete(w.batches, b)
	return true
}

// forget leaves all that is to be folded to the rollup.
func (w *cooler) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.batches)
}
