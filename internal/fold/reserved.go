package fold

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/txn"
)

// Triggers write reserved slots without a lock on the base row. So who has locked that can't
// take them away: he would wait for whoever has written one, and may be waiting for the row
// himself. He adds what is committed of them to the base row, and takes it off the offset
// slot, which is written under the base row's lock alone. What triggers add meanwhile stays.

// Reserved are the reserved slots of a table.
type Reserved struct {
	*Folder
	t *catalog.Table
}

func (f *Folder) Reserved(t *catalog.Table) Reserved { return Reserved{f, t} }

// toFold are the slots of locked rows, as a fold takes them.
func (f Reserved) toFold(ctx context.Context, keys []catalog.Key) (map[string][]slotsql.SlotRow, error) {
	t := f.t
	if !t.Fed || f.Locks { // or nobody else writes any
		return f.untaken(ctx, keys)
	}
	found, err := f.SlotRows(ctx, t, keys, f.seen)
	if err != nil {
		return nil, err
	}
	for id, rows := range found {
		if found[id], err = together(t, rows); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// wrote reports whether the open transaction may have written reserved slots, which
// others do not see yet.
func (f Reserved) wrote() bool {
	x := f.Open()
	if x == nil || x.Inside { // then it reads all for itself
		return false
	}
	w := x.Written[f.t.String()]
	return w != nil && (w.Fed || len(w.Folded) > 0)
}

// seen reads slots of rows that the transaction has locked: as it has them, where it has
// written them, and of all others what is committed. What it has not written it does not lock,
// nor a place where there is none: under REPEATABLE READ that would keep triggers from slots of
// the keys beside, and two who do it deadlock.
func (f Reserved) seen(ctx context.Context, query string) ([][]string, error) {
	if !f.wrote() {
		return f.Outside(ctx, query)
	}
	slot := catalog.PrivateName + "." + sqltext.Quote(f.t.SlotCol)
	rows, err := f.Outside(ctx, query)
	if err != nil || f.Transaction().Inside {
		return rows, err
	}
	written, err := f.Uncommitted(ctx, query+" AND "+slot+" >= "+strconv.Itoa(catalog.FirstReserved))
	if err != nil {
		return nil, err
	}
	if f.Transaction().Inside {
		return f.Outside(ctx, query)
	}
	at := max(len(f.t.Key), 1) // of the slot, behind the key
	id := func(r []string) string { return strings.Join(r[:at+1], "\x00") }
	committed, now := map[string][]string{}, map[string][]string{}
	for _, r := range rows {
		committed[id(r)] = r
	}
	var uncertain []string
	for _, r := range written {
		now[id(r)] = r
		if r[at] != strconv.Itoa(catalog.OffsetSlot) && !slices.Equal(r, committed[id(r)]) { // it is his who has it locked
			now[id(r)] = committed[id(r)]
			k, _ := f.t.Key.Cut(r)
			uncertain = append(uncertain, "("+f.t.Key.Where(k, catalog.PrivateName)+" AND "+slot+" = "+r[at]+")")
		}
	}
	if uncertain != nil {
		own, err := f.Read(ctx, f.Settings.Unsnapshot()+query+" AND "+slot+" = "+catalog.OwnSlot+" AND ("+strings.Join(uncertain, " OR ")+") FOR UPDATE SKIP LOCKED")
		if err != nil {
			return nil, err
		}
		for _, r := range own {
			now[id(r)] = r
		}
	}
	rows = slices.DeleteFunc(rows, func(r []string) bool { return catalog.Reserved(r[at]) })
	for _, r := range now { // what is no more was deleted here
		if r != nil {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// ownKeys are the keys of slots that triggers have written in the transaction, which others do not
// see, and those of other connections with the same slot number: one in 64. from tells which slots.
func ownKeys(ctx context.Context, f *Folder, t *catalog.Table, name, from string) ([]catalog.Key, error) {
	if !t.Fed || !f.Reserved(t).wrote() {
		return nil, nil
	}
	slot, err := f.Read(ctx, "SELECT "+catalog.OwnSlot) // names no table, so that it makes no snapshot
	if err != nil {
		return nil, err
	}
	rows, err := f.Uncommitted(ctx, "SELECT DISTINCT "+t.Key.Select(name)+from+" AND "+name+"."+sqltext.Quote(t.SlotCol)+" = "+slot[0][0])
	return t.Key.KeysOfRows(rows), err
}

// together makes one of a row's reserved slots, and none where they cancel out.
func together(t *catalog.Table, rows []slotsql.SlotRow) (all []slotsql.SlotRow, err error) {
	var reserved []slotsql.SlotRow
	for _, r := range rows {
		if catalog.Reserved(r.Slot) {
			reserved = append(reserved, r)
		} else {
			all = append(all, r)
		}
	}
	if reserved == nil {
		return all, nil
	}
	sum := slotsql.SlotRow{Key: reserved[0].Key, Slot: strconv.Itoa(catalog.OffsetSlot), Touch: make([]string, len(t.Touch)), Offset: true}
	some := false
	for i, c := range t.Counters {
		n, err := slotsql.SumOf(c, "0", i, reserved)
		if err != nil {
			return nil, err
		}
		some = some || n.Sign() != 0
		sum.Amounts = append(sum.Amounts, c.FormatBig(n))
	}
	if some {
		all = append(all, sum)
	}
	return all, nil
}

// offsetsOf sets those apart that stand for reserved slots.
func offsetsOf(gone []slotsql.SlotRow) (offsets, rest []slotsql.SlotRow) {
	for _, s := range gone {
		if s.Offset {
			offsets = append(offsets, s)
		} else {
			rest = append(rest, s)
		}
	}
	return offsets, rest
}

// offset takes what a fold has added to base rows off their offset slots.
func (f Reserved) offset(ctx context.Context, offsets []slotsql.SlotRow) error {
	t := f.t
	cols := append(catalog.QuoteNames(t.Key), sqltext.Quote(t.SlotCol))
	var updates []string
	for _, c := range t.Counters {
		cols = append(cols, sqltext.Quote(c.Name))
		updates = append(updates, t.AddTo(c, "VALUES("+sqltext.Quote(c.Name)+")"))
	}
	for batch := range session.Batches(&f.Settings, t, plan.SendBatch, offsets) {
		rows := make([]string, len(batch))
		for n, s := range batch {
			var vals []string
			for i, k := range t.Key {
				vals = append(vals, k.Constant(s.Key[i]))
			}
			vals = append(vals, s.Slot)
			for _, amount := range s.Amounts {
				vals = append(vals, "-("+amount+")")
			}
			rows[n] = "(" + strings.Join(vals, ", ") + ")"
		}
		if _, err := f.Do(ctx, "INSERT INTO "+t.Slots()+" ("+strings.Join(cols, ", ")+") VALUES "+strings.Join(rows, ", ")+" ON DUPLICATE KEY UPDATE "+strings.Join(updates, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// Add adds to a counter of locked rows, in their offset slots: the base rows may lack what others
// have in slots, and an UNSIGNED one not take it.
func (f Reserved) Add(ctx context.Context, c *catalog.Column, keys []catalog.Key, amounts []string) error {
	rows := make([]slotsql.SlotRow, len(keys))
	for i, k := range keys {
		rows[i] = slotsql.SlotRow{Key: k, Slot: strconv.Itoa(catalog.OffsetSlot)}
		for _, of := range f.t.Counters {
			if of == c {
				rows[i].Amounts = append(rows[i].Amounts, "-("+amounts[i]+")")
			} else {
				rows[i].Amounts = append(rows[i].Amounts, "0")
			}
		}
	}
	return f.offset(ctx, rows)
}

// sums reads the slots of a row whose base row the transaction has locked. It does so
// each time: that lock keeps nobody from adding to them by a trigger.
func (f Reserved) sums(ctx context.Context, row *txn.WrittenRow) error {
	t := f.t
	all, err := f.slotRowsWhere(ctx, t, row.Slots+" AND "+t.Planned(catalog.PrivateName), f.seen)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		if err := f.StillKnown(ctx, t, false, nil); err != nil {
			return err
		}
	}
	folded := f.Transaction().WrittenTo(t).Folded
	all = slices.DeleteFunc(all, func(s slotsql.SlotRow) bool { return !catalog.Reserved(s.Slot) && folded[s.Key.ID()] })
	row.Sums = slotsql.NoSums(t)
	for i, c := range t.Counters {
		n, err := slotsql.SumOf(c, "0", i, all)
		if err != nil {
			return err
		}
		row.Sums[c.Name] = c.FormatBig(n)
	}
	for i, c := range t.Touch {
		if newest := slotsql.NewestTouch(i, all, nil); newest != "" {
			row.Sums[c.Name] = "CAST(" + newest + " AS " + c.Moments() + ")"
		}
	}
	return nil
}
