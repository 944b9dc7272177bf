package countermysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// sendBatch is how many entries one statement carries.
const sendBatch = 500

// errRowGone says that a row to be incremented is missing or has become NULL.
var errRowGone = errors.New("countermysql: the row is gone")

// send sends the transaction's pending increments, table by table in canonical
// order. It is the last thing before COMMIT: when the transaction goes on after
// it, its own slots would show in its snapshot.
func (c *conn) send(ctx context.Context) error {
	if c.tx == nil || !c.inTransaction() {
		return nil
	}
	for _, t := range c.tx.tables() {
		for batch := range slices.Chunk(c.tx.pending[t.String()].sorted(), sendBatch) {
			err := c.sendTable(ctx, t, batch)
			if errors.Is(err, errRowGone) {
				err = c.sendEach(ctx, t, batch)
			}
			if err != nil {
				return err
			}
		}
		if c.tx == nil {
			return nil
		}
		c.connector.stats.flushes.Add(1)
		delete(c.tx.pending, t.String())
		c.tx.writtenTo(t).any, c.tx.inside = true, true // should the commit fail and the transaction go on
	}
	return nil
}

// sendTable adds sorted entries to their slots in one strict statement. It
// locks all base rows first and then writes all slots (SQL_BUFFER_RESULT): row
// by row it would deadlock with a transaction that has edited a row and sends a
// lesser key. A missing row makes the statement fail, and add nothing.
func (c *conn) sendTable(ctx context.Context, t *table, entries []*entry) error {
	var stmt string
	if len(entries) == 1 {
		one := *entries[0]
		one.name, one.where = t.spec.name, t.where(one.key, quoteIdent(t.spec.name))
		stmt = c.oneStatement(t, &one, false)
	} else {
		stmt = c.sendStatement(t, entries)
	}
	for try := 0; ; try++ {
		affected, err := c.do(ctx, stmt)
		switch n := errorNumber(err); {
		case n == errOutOfRange, err == nil && affected == 0 && len(entries) == 1 && !entries[0].empty():
			return errRowGone
		case n == errDeadlock && try < maxRetries && !c.inTransaction():
			c.lost = false
		default:
			return err
		}
	}
}

func (c *conn) sendStatement(t *table, entries []*entry) string {
	const v = "countermysql_v"
	base := quoteIdent(t.spec.name)
	var cols, vals, updates, gone []string
	for i, k := range t.key {
		cols = append(cols, quoteIdent(k.name))
		vals = append(vals, fmt.Sprintf("%s.k%d", v, i))
	}
	used := usedCounters(t, entries)
	for _, i := range used {
		gone = append(gone, base+"."+quoteIdent(t.counters[i].name)+" IS NULL")
	}
	if len(t.key) == 0 {
		gone = append(gone, "(SELECT COUNT(*) FROM "+t.base()+" LOCK IN SHARE MODE) <> 1")
	}
	cols = append(cols, quoteIdent(t.slotCol))
	vals = append(vals, v+".slot + 0 * (18446744073709551615 + ("+strings.Join(gone, " OR ")+"))") // out of range if gone
	for _, i := range used {
		col := quoteIdent(t.counters[i].name)
		cols = append(cols, col)
		vals = append(vals, fmt.Sprintf("%s.c%d", v, i))
		updates = append(updates, t.addTo(t.counters[i], fmt.Sprintf("%s.c%d", v, i)))
	}
	touched := usedTouch(t, entries)
	for _, i := range touched {
		col := quoteIdent(t.touch[i].name)
		cols = append(cols, col)
		vals = append(vals, fmt.Sprintf("%s.t%d", v, i))
		updates = append(updates, col+" = "+later(t.slots()+"."+col, fmt.Sprintf("%s.t%d", v, i)))
	}
	rows := make([]string, len(entries))
	for n, e := range entries {
		rows[n] = "SELECT " + strings.Join(e.fields(t, c.slot(t), used, touched), ", ")
	}
	on := make([]string, len(t.key))
	for i, k := range t.key {
		on[i] = base + "." + quoteIdent(k.name) + fmt.Sprintf(" = %s.k%d", v, i)
	}
	if len(on) == 0 {
		on = []string{"TRUE"}
	}
	return c.unsnapshot() + "INSERT INTO " + t.slots() + " (" + strings.Join(cols, ", ") + ") SELECT SQL_BUFFER_RESULT " + strings.Join(vals, ", ") +
		" FROM (" + strings.Join(rows, " UNION ALL ") + ") AS " + v + " LEFT JOIN " + t.base() + t.forceKey() + " ON " + strings.Join(on, " AND ") +
		" LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE " + strings.Join(updates, ", ")
}

// fields are the values of an entry, named for the first row of a derived table.
func (e *entry) fields(t *table, slot int, used, touched []int) []string {
	var f []string
	for i, k := range t.key {
		f = append(f, fmt.Sprintf("%s AS k%d", k.literal(e.key[i]), i))
	}
	f = append(f, fmt.Sprintf("%d AS slot", slot))
	for _, i := range used {
		f = append(f, fmt.Sprintf("%s AS c%d", t.counters[i].formatUnits(e.deltas[i]), i))
	}
	for _, i := range touched {
		at := "NULL"
		if e.touch[i] != "" {
			at = e.touch[i]
		}
		f = append(f, fmt.Sprintf("CAST(%s AS DATETIME(6)) AS t%d", at, i))
	}
	return f
}

func usedCounters(t *table, entries []*entry) []int {
	var used []int
	for i := range t.counters {
		if slices.ContainsFunc(entries, func(e *entry) bool { return e.deltas[i] != 0 }) {
			used = append(used, i)
		}
	}
	if used == nil {
		return []int{0} // they cancelled out; the rows must exist all the same
	}
	return used
}

func usedTouch(t *table, entries []*entry) []int {
	var used []int
	for i := range t.touch {
		if slices.ContainsFunc(entries, func(e *entry) bool { return e.touch[i] != "" }) {
			used = append(used, i)
		}
	}
	return used
}

// sendEach sends entries one by one. A row that is gone is looked up again by
// the application's own condition, in case another transaction has given it a
// new key; if there is none, the increment went with the row.
func (c *conn) sendEach(ctx context.Context, t *table, entries []*entry) error {
	for _, e := range entries {
		err := c.sendTable(ctx, t, []*entry{e})
		if !errors.Is(err, errRowGone) {
			if err != nil {
				return err
			}
			continue
		}
		moved, err := c.findAgain(ctx, t, e)
		if err != nil {
			return err
		}
		for _, m := range moved {
			if err := c.sendTable(ctx, t, []*entry{m}); err != nil && !errors.Is(err, errRowGone) {
				return err
			}
		}
	}
	return nil
}

// findAgain looks for the row of an entry that is no longer under its key, by
// each condition that the application found it by, and locks it.
func (c *conn) findAgain(ctx context.Context, t *table, e *entry) ([]*entry, error) {
	var moved []*entry
	for _, f := range e.finds {
		rows, err := c.lock(ctx, t, quoteIdent(f.name), t.base()+" AS "+quoteIdent(f.name), f.where)
		if err != nil {
			return nil, err
		}
		if len(rows) == 1 {
			moved = append(moved, &entry{key: rows[0].key, deltas: f.deltas, touch: e.touch})
		}
	}
	return moved, nil
}

// empty reports whether the entry's increments cancelled out.
func (e *entry) empty() bool {
	return !slices.ContainsFunc(e.deltas, func(d int64) bool { return d != 0 })
}
