package maintain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/stats"
	"github.com/countermysql/countermysql/internal/traffic"
)

// cooler folds the slots of keys that are no longer hot, those which this process has
// written: so that slots tables are small, and most of them empty. It waits for no row,
// and rests for a multiple of the time that it works.
type cooler struct {
	job
	mu   sync.Mutex
	keys map[*traffic.Keys]bool // that are to be folded
}

// coolingRest is for how many times as long as a fold took the cooler rests, and lookingRest as it
// took to look at what is known of keys.
const (
	coolingRest = 4
	lookingRest = 50
)

// Slotted notes that increments have gone to slots.
func (b *Background) Slotted(keys *traffic.Keys, entries []*slotsql.RowIncrement) {
	if !b.On() || len(keys.Table.Key) == 0 || keys.Table.Cluster {
		return
	}
	keys.Write(entries)
	b.Shared.Traffic.Of(keys.Table).Slots.See()
	if b.cooler.note(keys) {
		b.ask(&b.cooler.job, b.cool)
	}
}

// note remembers keys of which some have to be folded, and reports whether that is new.
func (w *cooler) note(keys *traffic.Keys) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys[keys] {
		return false
	}
	if w.keys == nil {
		w.keys = map[*traffic.Keys]bool{}
	}
	w.keys[keys] = true
	return true
}

// coolingSlots is what the log says of a fold that fails.
const coolingSlots = "folding cold slots"

// cool folds what there is to fold.
func (b *Background) cool(ctx context.Context, w *worker) {
	if err := b.coolAll(ctx, w); err != nil {
		w.end()
		if ctx.Err() == nil {
			b.note(coolingSlots, err)
		}
	}
}

// coolAll folds until nothing is left to fold. After an error the rollup has to do it.
func (b *Background) coolAll(ctx context.Context, w *worker) error {
	for looked := time.Duration(0); ; {
		if !session.Pause(ctx, max(traffic.CoolSoon/2, lookingRest*looked)) {
			return nil
		}
		left := false
		looked = 0
		for _, keys := range b.cooler.all() {
			begun := time.Now()
			cold, rest, slotted := keys.Cold(together(keys.Table))
			cold = b.unreserved(keys, cold)
			looked += time.Since(begun)
			if len(cold) > 0 {
				start := time.Now()
				kept, err := b.coolKeys(ctx, w, keys, cold)
				if err != nil {
					keys.Folded(nil)
					b.cooler.forget()
					return err
				}
				if !slotted && !kept {
					b.Shared.Traffic.Of(keys.Table).Slots.Forget()
				}
				if !session.Pause(ctx, min(coolingRest*time.Since(start), maxRest)) {
					return nil
				}
			} else if !rest && b.cooler.drop(keys) {
				continue
			}
			left = true
		}
		if !left {
			return nil
		}
	}
}

// coolKeys folds some keys of one table; kept reports whether some are left.
func (b *Background) coolKeys(ctx context.Context, w *worker, of *traffic.Keys, cold []*traffic.KnownKey) (kept bool, err error) {
	t := of.Table
	r, err := w.on(ctx, t)
	if err != nil {
		return false, err
	}
	slices.SortFunc(cold, func(x, y *traffic.KnownKey) int { return of.By.Compare(x.Key, y.Key) })
	keys := make([]catalog.Key, len(cold))
	for i, k := range cold {
		keys[i] = k.Key
	}
	keys = keys[:min(len(keys), session.Several(&r.folder.Settings, t, len(keys), keys))]
	taken, err := r.fold(ctx, of.By, keys, "FOR UPDATE SKIP LOCKED")
	if err != nil && !mysqlerr.Passing[mysqlerr.Number(err)] {
		return false, fmt.Errorf("%s: %w", t, err)
	}
	b.Shared.Stats.RolledUp(r.out.statistics())
	left := slices.DeleteFunc(cold, func(k *traffic.KnownKey) bool { return taken[k.Key.ID()] }) // by another unique key all are
	of.Folded(left)
	if mysqlerr.Number(err) == mysqlerr.ErrLockWait {
		of.Stick(keys)
	}
	return len(left) > 0, nil
}

func (w *cooler) all() []*traffic.Keys {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.keys))
}

// Slots are the keys whose slots this process has written and not folded since.
func (b *Background) Slots() (sum stats.SlottedStatistics) {
	for _, of := range b.cooler.all() {
		keys, oldest := of.Slotted()
		sum.Keys, sum.Oldest = sum.Keys+int64(keys), max(sum.Oldest, oldest)
	}
	return sum
}

// drop forgets keys of which there are none; false if there are some by now.
func (w *cooler) drop(keys *traffic.Keys) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if keys.Some() {
		return false
	}
	delete(w.keys, keys)
	return true
}

// forget leaves all that is to be folded to the rollup.
func (w *cooler) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.keys)
}
