package countermysql

import (
	"context"
	"strings"
)

// overflow names the counter whose column can't hold base plus slots; "" if all
// can.
func (t *table) overflow(row lockedRow, slots []slotRow) string {
	for i, col := range t.counters {
		if row.counters[i] == "" {
			continue
		}
		if sum, err := col.sum(row.counters[i], i, slots); err == nil && !col.inRange(sum) {
			return col.name
		}
	}
	return ""
}

// foldPart rolls up a locked row whose counters leave their columns' range: the
// base row gets what it can hold, and the slots keep the rest.
func (r *rollup) foldPart(ctx context.Context, row lockedRow, slots []slotRow) error {
	t, name := r.t, quoteIdent(r.t.spec.name)
	var sets []string
	keeps := make([]bool, len(slots))
	kept := make([][]string, len(slots)) // assignments, by slot
	for i, col := range t.counters {
		if row.counters[i] == "" {
			continue
		}
		sum, err := col.sum(row.counters[i], i, slots)
		if err != nil {
			return err
		}
		held := col.clamp(sum)
		sets = append(sets, name+"."+quoteIdent(col.name)+" = "+col.formatBig(held))
		rest := sum.Sub(sum, held)
		low, high := col.slotLimits()
		for n := range slots {
			part := clamp(rest, low, high)
			rest.Sub(rest, part)
			keeps[n] = keeps[n] || part.Sign() != 0
			kept[n] = append(kept[n], quoteIdent(col.name)+" = "+col.formatBig(part))
		}
	}
	for i, col := range t.touch {
		ref := name + "." + quoteIdent(col.name)
		if newest := newestTouch(i, slots, nil); newest != "" {
			sets = append(sets, ref+" = "+later(ref, newest))
		} else {
			sets = append(sets, ref+" = "+ref) // or the server sets it to now
		}
	}
	if _, err := r.c.do(ctx, "UPDATE "+t.base()+t.forceKey()+" SET "+strings.Join(sets, ", ")+" WHERE "+t.where(row.key, name)); err != nil {
		return err
	}
	var gone []slotRow
	for n, s := range slots {
		if !keeps[n] {
			gone = append(gone, s)
			continue
		}
		where := t.where(s.key, t.slots()) + " AND " + quoteIdent(t.slotCol) + " = " + s.slot
		if _, err := r.c.do(ctx, "UPDATE "+t.slots()+" SET "+strings.Join(kept[n], ", ")+" WHERE "+where); err != nil {
			return err
		}
	}
	r.out.Slots += int64(len(gone))
	return r.c.removeSlots(ctx, t, gone)
}
