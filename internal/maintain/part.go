package maintain

import (
	"context"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// foldPart rolls up a locked row whose counters leave their columns' range: the
// base row gets what it can hold, and the slots keep the rest.
func (r *rollup) foldPart(ctx context.Context, row slotsql.LockedRow, slots []slotsql.SlotRow) error {
	t, name := r.table, sqltext.Quote(r.table.Spec.Name)
	var sets []string
	keeps := make([]bool, len(slots))
	kept := make([][]string, len(slots)) // assignments, by slot
	for i, col := range t.Counters {
		if row.Counters[i] == "" {
			continue
		}
		sum, err := slotsql.SumOf(col, row.Counters[i], i, slots)
		if err != nil {
			return err
		}
		held := col.Clamp(sum)
		sets = append(sets, name+"."+sqltext.Quote(col.Name)+" = "+col.FormatBig(held))
		rest := sum.Sub(sum, held)
		low, high := col.SlotLimits()
		for n := range slots {
			part := catalog.Clamp(rest, low, high)
			rest.Sub(rest, part)
			keeps[n] = keeps[n] || part.Sign() != 0
			kept[n] = append(kept[n], sqltext.Quote(col.Name)+" = "+col.FormatBig(part))
		}
	}
	for i, col := range t.Touch {
		ref := name + "." + sqltext.Quote(col.Name)
		if newest := slotsql.NewestTouch(i, slots, nil); newest != "" {
			sets = append(sets, ref+" = "+catalog.Later(ref, newest))
		} else {
			sets = append(sets, ref+" = "+ref) // or the server sets it to now
		}
	}
	if _, err := r.folder.Do(ctx, "UPDATE "+t.Base()+slotsql.ForceKey(t)+" SET "+strings.Join(sets, ", ")+" WHERE "+t.Key.Where(row.Key, name)); err != nil {
		return err
	}
	var gone []slotsql.SlotRow
	for n, s := range slots {
		if !keeps[n] {
			gone = append(gone, s)
			continue
		}
		where := t.Key.Where(s.Key, t.Slots()) + " AND " + sqltext.Quote(t.SlotCol) + " = " + s.Slot
		if _, err := r.folder.Do(ctx, "UPDATE "+t.Slots()+" SET "+strings.Join(kept[n], ", ")+" WHERE "+where); err != nil {
			return err
		}
	}
	r.out.Slots += int64(len(gone))
	return r.folder.RemoveSlots(ctx, t, gone)
}
