package countermysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// removeSlots deletes rows of the slots table that were read before, each by its
// full primary key: otherwise both servers scan a small table, and lock it all. One
// that holds something else by now was written by another node of a cluster, which
// the base row's lock does not keep from it: the transaction is rolled back.
func (c *conn) removeSlots(ctx context.Context, t *catalog.Table, gone []slotsql.SlotRow) error {
	const v = "countermysql_v"
	on := []string{catalog.PrivateName + "." + sqltext.Quote(t.SlotCol) + " = " + v + ".slot"}
	for i, k := range t.Key {
		on = append(on, fmt.Sprintf("%s.%s = %s.k%d", catalog.PrivateName, sqltext.Quote(k.Name), v, i))
	}
	for i, col := range t.Counters {
		on = append(on, fmt.Sprintf("%s.%s = %s.c%d", catalog.PrivateName, sqltext.Quote(col.Name), v, i))
	}
	for batch := range slices.Chunk(gone, c.Several(t, plan.SendBatch, session.EachOf(gone, func(s slotsql.SlotRow) catalog.Key { return s.Key }))) {
		rows := make([]string, len(batch))
		for n, s := range batch {
			f := []string{s.Slot + " AS slot"}
			for i, k := range t.Key {
				f = append(f, fmt.Sprintf("%s AS k%d", k.Constant(s.Key[i]), i))
			}
			for i, amount := range s.Amounts {
				f = append(f, fmt.Sprintf("%s AS c%d", amount, i))
			}
			rows[n] = "SELECT " + strings.Join(f, ", ")
		}
		n, err := c.Do(ctx, c.UnsafeUpdates(t)+"DELETE "+catalog.PrivateName+" FROM ("+strings.Join(rows, " UNION ALL ")+") AS "+v+
			" STRAIGHT_JOIN "+t.Slots()+" AS "+catalog.PrivateName+" FORCE INDEX (PRIMARY) ON "+strings.Join(on, " AND "))
		if err == nil && n < int64(len(batch)) {
			err = c.AsDeadlock("another node of the cluster has written the slots of " + t.String() + " meanwhile")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clean removes slots left under the keys that an INSERT names: their rows were
// deleted by a cascade or another client. A row that somebody has locked may be about
// to go: then it waits, as the INSERT would.
func (c *conn) clean(ctx context.Context, k *call) error {
	t, where, named := k.Plan.Cleaning.Table, "TRUE", false
	if pins := k.Plan.Cleaning.Pins; pins != nil {
		if s, ok := plan.BindPins(pins, catalog.PrivateName, k.binder()); ok {
			where, named = s, true
		}
	}
	some, waits := slotsql.Orphans(t, where), named && !t.Galera // see noWait
	if waits {
		some = " FROM " + t.Slots() + " AS " + catalog.PrivateName + " WHERE (" + where + ") AND NOT EXISTS (SELECT 1 FROM " + t.Base() +
			" AS base WHERE " + t.SameKey("base", catalog.PrivateName) + " " + t.SkipLocked() + ")"
	}
	if c.InTransaction() && c.Transaction().WrittenTo(t).Unbounded { // others do not see which rows it has deleted
		if !named {
			if rows, err := c.Outside(ctx, "SELECT 1 FROM "+t.Slots()+" LIMIT 1"); err != nil || len(rows) == 0 {
				return err
			}
			return c.removeOrphans(ctx, t, where)
		}
		some = " FROM " + t.Slots() + " AS " + catalog.PrivateName + " WHERE " + where
	}
	found, err := c.Outside(ctx, "SELECT DISTINCT "+t.SelectKey(catalog.PrivateName)+some)
	if err != nil {
		return err
	}
	keys := make([]catalog.Key, len(found))
	for i, row := range found {
		keys[i] = row
	}
	slices.SortFunc(keys, t.Compare)
	for batch := range slices.Chunk(keys, c.Several(t, plan.SendBatch, slices.Values(keys))) { // and not all at once, which would lock all slots
		if waits {
			lock := catalog.ShareMode
			if k.Plan.Scopes != nil { // it changes the row: with a shared lock, those who wait here would then wait for each other
				lock = "FOR UPDATE"
			}
			there, err := c.Read(ctx, c.Unsnapshot()+"SELECT 1 FROM "+t.Base()+" WHERE "+t.WhereAny(batch, sqltext.Quote(t.Spec.Name))+" "+lock)
			if err != nil {
				return err
			}
			if len(there) == len(batch) { // nothing is left over: others go on with those slots
				continue
			}
		}
		if err := c.removeOrphans(ctx, t, t.WhereAny(batch, catalog.PrivateName)); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) removeOrphans(ctx context.Context, t *catalog.Table, where string) error {
	n, err := c.Do(ctx, c.UnsafeUpdates(t)+"DELETE "+catalog.PrivateName+slotsql.Orphans(t, where))
	if n > 0 && c.InTransaction() {
		c.Transaction().Inside = true // others still see them
	}
	return err
}
