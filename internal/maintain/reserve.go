package maintain

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
)

// fillBehind is how long behind the making of reserved rows they are filled.
const fillBehind = 10 * time.Millisecond

// Fill moves units of a counter from a base row to the key's reserved rows, in the background, if
// each of them gets at least so many. It is for who was told to by traffic.Taking.Fill.
func (b *Background) Fill(t *catalog.Table, k catalog.Key, c *catalog.Column, units int64) {
	reserve := &b.Shared.Traffic.Of(t).Reserve
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped || b.ctx == nil {
		reserve.Filled(k.ID(), nil, 0)
		return
	}
	ctx := b.ctx
	b.work.Go(func() {
		left, share, err := b.fill(ctx, t, k, c, units)
		reserve.Filled(k.ID(), left, share)
		if err != nil && ctx.Err() == nil && !mysqlerr.Passing[mysqlerr.Number(err)] {
			b.note("filling reserved rows", err)
		}
	})
}

func (b *Background) fill(ctx context.Context, t *catalog.Table, k catalog.Key, c *catalog.Column, units int64) (left []int64, share int64, err error) {
	r, err := b.open(ctx, t, 0)
	if err != nil {
		return nil, 0, err
	}
	defer r.close()
	// Who waits for the base row already, or is about to, has found no reserved rows to lock
	// before it: it comes before the filling, and whoever comes now finds them.
	if err := r.transaction(ctx, func() error { return r.make(ctx, k, c, units) }); err != nil {
		return nil, 0, err
	}
	if !session.Pause(ctx, fillBehind) {
		return nil, 0, ctx.Err()
	}
	err = r.transaction(ctx, func() error {
		left, share, err = r.fill(ctx, k, c, units)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return left, share, nil
}

// make makes a key's reserved rows, if they are not there and the base row has enough.
func (r *rollup) make(ctx context.Context, k catalog.Key, c *catalog.Column, units int64) error {
	f, t := r.folder, r.table
	base, err := r.lockBase(ctx, k, c)
	if err != nil || base == nil {
		return err
	}
	n := t.Spec.ReserveOf(c)
	missing := make([]int, n)
	for i := range missing {
		missing[i] = catalog.FirstReserved + i
	}
	there, err := f.SlotRows(ctx, t, []catalog.Key{k}, f.Read)
	if err != nil {
		return err
	}
	for _, s := range there[k.ID()] {
		missing = slices.DeleteFunc(missing, func(slot int) bool { return strconv.Itoa(slot) == s.Slot })
	}
	if len(missing) == n && base.units/int64(2*n) < units {
		return nil
	}
	if len(missing) > 0 {
		if _, err := f.Do(ctx, slotsql.FillReserved(t, base.key, c, missing, 0)); err != nil {
			return err
		}
	}
	f.Traffic.Of(t).Reserve.Met(k.ID(), n)
	return nil
}

// stocked is a base row with units to reserve.
type stocked struct {
	key   catalog.Key // as the row spells it
	units int64
}

// lockBase waits for a base row; nil if it is gone, or has no number that is reserved.
func (r *rollup) lockBase(ctx context.Context, k catalog.Key, c *catalog.Column) (*stocked, error) {
	f, t := r.folder, r.table
	rows, err := f.LockRowsAs(ctx, t, sqltext.Quote(t.Spec.Name), t.Base()+slotsql.ForceKey(t), t.Key.Where(k, sqltext.Quote(t.Spec.Name)), "FOR UPDATE")
	if err != nil || len(rows) != 1 {
		return nil, err
	}
	n, err := strconv.ParseInt(rows[0].Counters[slices.Index(t.Counters, c)], 10, 64)
	if err != nil {
		return nil, nil // NULL, or more than are reserved
	}
	return &stocked{rows[0].Key, n}, nil
}

// fill waits for the base row and for nothing behind it: reserved rows that somebody has locked
// stay as they are. Half of all units stay in the base row, for who takes them there, and for the
// next filling.
func (r *rollup) fill(ctx context.Context, k catalog.Key, c *catalog.Column, units int64) (left []int64, share int64, err error) {
	f, t := r.folder, r.table
	base, err := r.lockBase(ctx, k, c)
	if err != nil || base == nil {
		return nil, 0, err
	}
	at := slices.Index(t.Counters, c)
	there, err := f.SlotRows(ctx, t, []catalog.Key{k}, f.Read)
	if err != nil {
		return nil, 0, err
	}
	free, err := f.SlotRows(ctx, t, []catalog.Key{k}, func(ctx context.Context, query string) ([][]string, error) {
		return f.Read(ctx, query+" AND "+catalog.PrivateName+"."+sqltext.Quote(t.SlotCol)+" >= "+strconv.Itoa(catalog.FirstReserved)+" FOR UPDATE SKIP LOCKED")
	})
	if err != nil {
		return nil, 0, err
	}
	left = make([]int64, t.Spec.ReserveOf(c))
	total := base.units
	for _, s := range there[k.ID()] {
		if place, ok := placeOf(s, left); ok {
			left[place] = traffic.Unknown
		}
	}
	for _, s := range free[k.ID()] {
		if place, ok := placeOf(s, left); ok {
			n, err := strconv.ParseInt(s.Amounts[at], 10, 64)
			if err != nil || n < 0 || total > math.MaxInt64-n {
				return nil, 0, err
			}
			left[place], total = 0, total+n
		}
	}
	if share = total / int64(2*len(left)); share < units {
		return nil, 0, nil
	}
	var slots []int
	for i := range left {
		if left[i] != traffic.Unknown {
			slots, left[i] = append(slots, catalog.FirstReserved+i), share
		}
	}
	if slots == nil {
		return left, share, nil
	}
	if _, err := f.Do(ctx, slotsql.FillReserved(t, base.key, c, slots, share)); err != nil {
		return nil, 0, err
	}
	keep := ""
	for _, o := range t.Touch {
		if col := sqltext.Quote(o.Name); o.OnUpdate {
			keep += ", " + col + " = " + col
		}
	}
	col := sqltext.Quote(c.Name)
	rest := strconv.FormatInt(total-share*int64(len(slots)), 10)
	_, err = f.Do(ctx, "UPDATE "+t.Base()+slotsql.ForceKey(t)+" SET "+col+" = "+rest+keep+" WHERE "+t.Key.Where(k, sqltext.Quote(t.Spec.Name)))
	return left, share, err
}

// placeOf is the place of a reserved slot among those that are filled.
func placeOf(s slotsql.SlotRow, places []int64) (place int, ok bool) {
	n, err := strconv.Atoi(s.Slot)
	place = n - catalog.FirstReserved
	return place, err == nil && place >= 0 && place < len(places)
}

// leaveTaken leaves out the rows of which somebody takes reserved units now: what is not locked of
// them is all that the next ones have.
func (r *rollup) leaveTaken(ctx context.Context, rows []slotsql.LockedRow, found map[string][]slotsql.SlotRow) ([]slotsql.LockedRow, error) {
	there, err := r.folder.SlotRows(ctx, r.table, keysOf(rows), r.folder.Read)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(rows), func(row slotsql.LockedRow) bool {
		id := row.Key.ID()
		return len(found[id]) < len(there[id])
	}), nil
}

// unreserved leaves out the keys that are known to have reserved rows: they are for the rollup.
func (b *Background) unreserved(of *traffic.Keys, cold []*traffic.KnownKey) []*traffic.KnownKey {
	reserve := &b.Shared.Traffic.Of(of.Table).Reserve
	if !reserve.Some() {
		return cold
	}
	return slices.DeleteFunc(cold, func(k *traffic.KnownKey) bool { return reserve.Has(k.Key.ID()) })
}

// reserve checks whether counters can have the reserved rows that are configured for them.
func (k *inspection) reserve(t *catalog.Table) {
	for _, c := range t.Counters {
		if why := c.Unreserved(t); why != "" && t.Spec.Reserve.Of[strings.ToLower(c.Name)] > 0 {
			k.warn(t.String(), "counter "+c.Name+" gets no reserved rows: "+why, "take its reserve from the configuration, or change that", "")
		}
	}
}
