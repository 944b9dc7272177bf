package maintain

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Background is what goes on beside statements, from the first connection of a connector to
// its end: all is rolled up now and then, and what this process has written to slots is
// folded when its key is not hot any more.
type Background struct {
	*Maintainer
	Every time.Duration // how often all is rolled up; 0: slots stay where they are, but for those of a table that gets a new name

	cooler  cooler
	filler  filler
	waiting atomic.Pointer[map[string]int64] // rows in slots, as the last look has found them
	work    sync.WaitGroup
	rollups sync.Once // begin

	mu      sync.Mutex // guards what follows
	ctx     context.Context
	stop    context.CancelFunc // nil: nothing has begun
	stopped bool
}

// On reports whether slots are for hot rows only, and others lose theirs.
func (b *Background) On() bool { return b.Every != 0 }

// Start begins, unless that is turned off or under way.
func (b *Background) Start() {
	if b.On() {
		b.rollups.Do(func() { b.begin(b.rollUpNowAndThen) })
	}
}

// begin has f go on until the connector is closed, unless it is.
func (b *Background) begin(f func(ctx context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return
	}
	if b.stop == nil {
		b.ctx, b.stop = context.WithCancel(context.Background())
	}
	ctx := b.ctx
	b.work.Go(func() { f(ctx) })
}

// Stop ends it, and lets it not begin any more.
func (b *Background) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	if b.stop != nil {
		b.stop()
	}
}

// Wait waits for what Stop has ended.
func (b *Background) Wait() { b.work.Wait() }

func (b *Background) rollUpNowAndThen(ctx context.Context) {
	turns := turns{length: b.Every}
	for wait := rand.N(b.Every); session.Pause(ctx, wait); { // many processes start at the same time
		turns.again()
		if err := b.rollUpSlotted(ctx, &turns); err != nil && ctx.Err() == nil {
			b.note("rollup in the background", err)
		}
		if wait = b.Every; len(turns.next) > 0 {
			wait = 0
		}
	}
}

// mayNotWrite are the errors of who may not roll up: a user who only reads, or a server that
// is read-only. That is for others to do, then.
var mayNotWrite = map[uint16]bool{1044: true, 1142: true, 1143: true, 1227: true, mysqlerr.ErrReadOnlyServer: true, 1836: true}

func (b *Background) note(what string, err error) {
	n := mysqlerr.Number(err)
	if cooling := what == coolingSlots; !mayNotWrite[n] || cooling && mysqlerr.Denied[n] { // those are its own
		b.Warn(fmt.Sprint("background ", n), "countermysql: "+what, "error", err)
	}
}

// maxLooks bounds the tables that one statement looks at.
const maxLooks = 100

// rollUpSlotted rolls up the tables that have slots, if the server is not read-only: one
// cheap look tells.
func (b *Background) rollUpSlotted(ctx context.Context, turns *turns) error {
	s := b.Shared.Watcher.Current()
	if s == nil {
		return nil // nothing is known yet
	}
	ready := slices.DeleteFunc(s.All(), func(t *catalog.Table) bool { return catalog.Unfoldable(t) != nil })
	var all []*catalog.Table
	waiting := map[string]int64{}
	for tables := range slices.Chunk(ready, maxLooks) {
		slotted, err := b.lookForSlots(ctx, tables, waiting)
		switch {
		case mysqlerr.Number(err) == mysqlerr.ErrNoTable: // others have changed something: the rollup learns what
			slotted = tables
		case err != nil:
			return err
		}
		for _, t := range tables {
			if !slices.Contains(slotted, t) && b.hasOld(ctx, t) {
				slotted = append(slotted, t)
			}
		}
		all = append(all, slotted...)
	}
	b.waiting.Store(&waiting) // a look that fails says nothing
	if len(all) == 0 {
		return nil
	}
	_, err := b.rollUp(ctx, Options{Turns: turns}, func(s *catalog.Schema) (still []*catalog.Table, err error) {
		for _, t := range all {
			if t = s.Lookup(t.Spec.DB, t.Spec.Name, ""); t != nil { // it may have been dropped meanwhile
				still = append(still, t)
			}
		}
		return still, nil
	})
	return err
}

// Waiting are the rows in slots tables as the last look has found them.
func (b *Background) Waiting() map[string]int64 {
	if last := b.waiting.Load(); last != nil {
		return maps.Clone(*last)
	}
	return nil
}

// maxCounted bounds the rows of a slots table that a look counts.
const maxCounted = 10000

// lookForSlots returns those of the tables that have any, and how many.
func (b *Background) lookForSlots(ctx context.Context, tables []*catalog.Table, waiting map[string]int64) (slotted []*catalog.Table, err error) {
	look, err := b.Shared.Lookups.DB()
	if err != nil {
		return nil, err
	}
	queries := make([]string, len(tables))
	for i, t := range tables {
		counted := "1"
		if catalog.Reserves(t) { // whose reserved rows wait for nobody
			counted = sqltext.Quote(t.SlotCol) + " < " + strconv.Itoa(catalog.FirstReserved)
		}
		queries[i] = "SELECT " + strconv.Itoa(i) + ", COALESCE(SUM(counted), 0) FROM (SELECT " + counted + " AS counted FROM " + t.Slots() + " LIMIT " + strconv.Itoa(maxCounted) + ") AS " + catalog.PrivateName + " HAVING COUNT(*) > 0 AND @@global.read_only = 0"
	}
	rows, err := look.QueryContext(ctx, strings.Join(queries, " UNION ALL "))
	if err != nil {
		return nil, err
	}
	told, err := catalog.Texts(rows)
	for _, v := range told {
		i, _ := strconv.Atoi(v[0]) // numbers
		n, _ := strconv.ParseInt(v[1], 10, 64)
		slotted, waiting[tables[i].String()] = append(slotted, tables[i]), n
	}
	return slotted, err
}
