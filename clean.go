package countermysql

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// removeSlots deletes rows of the slots table that were read before, each by its
// full primary key: otherwise both servers scan a small table, and lock it all. One
// that holds something else by now was written by another node of a cluster, which
// the base row's lock does not keep from it: the transaction is rolled back.
func (c *conn) removeSlots(ctx context.Context, t *table, gone []slotRow) error {
	const v = "countermysql_v"
	on := []string{privateName + "." + quoteIdent(t.slotCol) + " = " + v + ".slot"}
	for i, k := range t.key {
		on = append(on, fmt.Sprintf("%s.%s = %s.k%d", privateName, quoteIdent(k.name), v, i))
	}
	for i, col := range t.counters {
		on = append(on, fmt.Sprintf("%s.%s = %s.c%d", privateName, quoteIdent(col.name), v, i))
	}
	for batch := range slices.Chunk(gone, c.several(t, sendBatch, eachOf(gone, func(s slotRow) key { return s.key }))) {
		rows := make([]string, len(batch))
		for n, s := range batch {
			f := []string{s.slot + " AS slot"}
			for i, k := range t.key {
				f = append(f, fmt.Sprintf("%s AS k%d", k.constant(s.key[i]), i))
			}
			for i, amount := range s.amounts {
				f = append(f, fmt.Sprintf("%s AS c%d", amount, i))
			}
			rows[n] = "SELECT " + strings.Join(f, ", ")
		}
		n, err := c.do(ctx, c.unsafeUpdates(t)+"DELETE "+privateName+" FROM ("+strings.Join(rows, " UNION ALL ")+") AS "+v+
			" STRAIGHT_JOIN "+t.slots()+" AS "+privateName+" FORCE INDEX (PRIMARY) ON "+strings.Join(on, " AND "))
		if err == nil && n < int64(len(batch)) {
			err = c.asDeadlock("another node of the cluster has written the slots of " + t.String() + " meanwhile")
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
	t, where, named := k.plan.cleaning.t, "TRUE", false
	if pins := k.plan.cleaning.pins; pins != nil {
		if s, ok := bindPins(pins, privateName, k.binder()); ok {
			where, named = s, true
		}
	}
	some, waits := t.orphans(where), named && !t.galera // see noWait
	if waits {
		some = " FROM " + t.slots() + " AS " + privateName + " WHERE (" + where + ") AND NOT EXISTS (SELECT 1 FROM " + t.base() +
			" AS base WHERE " + t.sameKey("base", privateName) + " " + t.skipLocked() + ")"
	}
	if c.inTransaction() && c.transaction().writtenTo(t).any { // others do not see which rows it has deleted
		if !named {
			if rows, err := c.outside(ctx, "SELECT 1 FROM "+t.slots()+" LIMIT 1"); err != nil || len(rows) == 0 {
				return err
			}
			return c.removeOrphans(ctx, t, where)
		}
		some = " FROM " + t.slots() + " AS " + privateName + " WHERE " + where
	}
	found, err := c.outside(ctx, "SELECT DISTINCT "+t.selectKey(privateName)+some)
	if err != nil {
		return err
	}
	keys := make([]key, len(found))
	for i, row := range found {
		keys[i] = row
	}
	slices.SortFunc(keys, t.compare)
	for batch := range slices.Chunk(keys, c.several(t, sendBatch, slices.Values(keys))) { // and not all at once, which would lock all slots
		if waits {
			lock := shareMode
			if k.plan.scopes != nil { // it changes the row: with a shared lock, those who wait here would then wait for each other
				lock = "FOR UPDATE"
			}
			there, err := c.read(ctx, c.unsnapshot()+"SELECT 1 FROM "+t.base()+" WHERE "+t.whereAny(batch, quoteIdent(t.spec.name))+" "+lock)
			if err != nil {
				return err
			}
			if len(there) == len(batch) { // nothing is left over: others go on with those slots
				continue
			}
		}
		if err := c.removeOrphans(ctx, t, t.whereAny(batch, privateName)); err != nil {
			return err
		}
	}
	return nil
}

// orphans selects slots without a base row, which is missing where its first key column is.
// A DELETE of them would scan, and lock, all of a small table otherwise.
func (t *table) orphans(where string) string {
	if len(t.key) == 0 {
		return " FROM " + t.slots() + " AS " + privateName + " WHERE NOT EXISTS (SELECT 1 FROM " + t.base() + ")"
	}
	return " FROM " + t.slots() + " AS " + privateName + " FORCE INDEX (PRIMARY) LEFT JOIN " + t.base() + " AS base ON " + t.sameKey("base", privateName) +
		" WHERE (" + where + ") AND base." + quoteIdent(t.key[0].name) + " IS NULL"
}

func (c *conn) removeOrphans(ctx context.Context, t *table, where string) error {
	n, err := c.do(ctx, c.unsafeUpdates(t)+"DELETE "+privateName+t.orphans(where))
	if n > 0 && c.inTransaction() {
		c.transaction().inside = true // others still see them
	}
	return err
}
