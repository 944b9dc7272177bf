package maintain

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
)

// make makes a key's reserved rows, if they are not there and the base row has enough for them.
func (r *rollup) make(ctx context.Context, of filling) (made, enough bool, err error) {
	f, t := r.folder, r.table
	n := catalog.ReservedRows(t.Spec.ReserveOf(of.counter))
	there, err := f.SlotRows(ctx, t, []catalog.Key{of.key}, f.Read)
	if err != nil {
		return false, false, err
	}
	missing := missingOf(n, there[of.key.ID()])
	if len(missing) == 0 { // of another process
		f.Traffic.Of(t).Reserve.Met(of.key.ID(), n)
		return false, true, nil
	}
	base, err := r.lockBase(ctx, of)
	if err != nil || base == nil || len(missing) == n && base.units/int64(2*n) < of.units {
		return false, false, err
	}
	if there, err = f.SlotRows(ctx, t, []catalog.Key{base.key}, f.Read); err != nil {
		return false, false, err
	}
	if missing = missingOf(n, there[base.key.ID()]); len(missing) > 0 {
		if _, err := f.Do(ctx, slotsql.FillReserved(t, base.key, of.counter, missing, 0)); err != nil {
			return false, false, err
		}
	}
	f.Traffic.Of(t).Reserve.Met(base.key.ID(), n)
	return true, true, nil
}

// missingOf are the numbers of so many reserved rows that are not among some slots.
func missingOf(n int, there []slotsql.SlotRow) (missing []int) {
	for slot := catalog.FirstReserved; slot < catalog.FirstReserved+n; slot++ {
		if !slices.ContainsFunc(there, func(s slotsql.SlotRow) bool { return s.Slot == strconv.Itoa(slot) }) {
			missing = append(missing, slot)
		}
	}
	return missing
}

// stocked is a base row with units to reserve.
type stocked struct {
	key   catalog.Key // as the row spells it
	units int64
}

// lockBase waits for a base row; nil if it is gone, or has no number that is reserved.
func (r *rollup) lockBase(ctx context.Context, of filling) (*stocked, error) {
	f, t := r.folder, r.table
	rows, err := f.LockRowsAs(ctx, t, sqltext.Quote(t.Spec.Name), t.Base()+slotsql.ForceKey(t), t.Key.Where(of.key, sqltext.Quote(t.Spec.Name)), "FOR UPDATE")
	if err != nil || len(rows) != 1 {
		return nil, err
	}
	n, err := strconv.ParseInt(rows[0].Counters[slices.Index(t.Counters, of.counter)], 10, 64)
	if err != nil {
		return nil, nil // NULL, or more than are reserved
	}
	return &stocked{rows[0].Key, n}, nil
}

// fill waits for the first reserved row, and with all others that nobody has locked for the base
// row: as MariaDB stands in line for a moment where it skips what is locked, it does so before. Half
// of all units, and a little more, stay in the base row, for who takes them there, and for the next
// filling.
func (r *rollup) fill(ctx context.Context, of filling) (left []int64, share int64, err error) {
	f, t, c := r.folder, r.table, of.counter
	left = make([]int64, catalog.ReservedRows(t.Spec.ReserveOf(c)))
	gate, others := strconv.Itoa(catalog.FirstReserved), make([]string, len(left)-1)
	for i := range others {
		others[i] = strconv.Itoa(catalog.FirstReserved + 1 + i)
	}
	if _, err := f.Read(ctx, slotsql.LockSlots(t, of.key, []string{gate})); err != nil {
		return nil, 0, err
	}
	free, err := f.Read(ctx, slotsql.LockSlots(t, of.key, others)+" SKIP LOCKED")
	if err != nil {
		return nil, 0, err
	}
	base, err := r.lockBase(ctx, of)
	if err != nil || base == nil {
		return nil, 0, err
	}
	total, ok, err := r.shared(ctx, base, c, free, left)
	if err != nil || !ok {
		return nil, 0, err
	}
	if share = total / int64(2*len(left)); share < of.units {
		return nil, 0, nil
	}
	var slots []int
	for i := range left[1:] {
		if i++; left[i] != traffic.Unknown {
			slots, left[i] = append(slots, catalog.FirstReserved+i), share
		}
	}
	if slots == nil {
		return left, share, nil
	}
	if _, err := f.Do(ctx, slotsql.FillReserved(t, base.key, c, slots, share)); err != nil {
		return nil, 0, err
	}
	return left, share, r.set(ctx, []catalog.Key{base.key}, c, strconv.FormatInt(total-share*int64(len(slots)), 10))
}

// shared is what the base row and the free ones of its reserved rows have, to be shared out anew; the
// places of the others are Unknown. ok is false where that is no number for a share.
func (r *rollup) shared(ctx context.Context, base *stocked, c *catalog.Column, free [][]string, places []int64) (total int64, ok bool, err error) {
	there, err := r.folder.SlotRows(ctx, r.table, []catalog.Key{base.key}, r.folder.Read)
	if err != nil {
		return 0, false, err
	}
	at := slices.Index(r.table.Counters, c)
	total = base.units
	for _, s := range there[base.key.ID()] {
		place, ok := placeOf(s, places)
		switch {
		case !ok, place == 0: // holds nothing
		case !slices.ContainsFunc(free, func(row []string) bool { return row[0] == s.Slot }):
			places[place] = traffic.Unknown
		default:
			n, err := strconv.ParseInt(s.Amounts[at], 10, 64)
			if err != nil || n < 0 || total > math.MaxInt64-n {
				return 0, false, err
			}
			total += n
		}
	}
	return total, true, nil
}

// placeOf is the place of a reserved slot among those that are filled.
func placeOf(s slotsql.SlotRow, places []int64) (place int, ok bool) {
	n, err := strconv.Atoi(s.Slot)
	place = n - catalog.FirstReserved
	return place, err == nil && place >= 0 && place < len(places)
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
