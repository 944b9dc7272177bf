package countermysql

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// sightOf is how the open transaction sees a table, after its pending
// increments have been taken the exact way or noted in the sight.
func (c *conn) sightOf(ctx context.Context, t *table, l locking, k *call) (sight, error) {
	var s sight
	if !c.inTransaction() {
		s.locks = l.clause
		if l.shared && (c.next != "" || c.session.readOnly) { // READ ONLY refuses FOR UPDATE
			s.locks = t.share(s.locks)
		}
		return s, nil
	}
	x := c.transaction()
	if ids, may := k.mayRead(t); may && x.hasPending(t) {
		if t.spec.readOwn == ReadOwnSnapshot && l.clause == "" {
			for _, e := range x.pending[t.String()].sorted() {
				s.pending = append(s.pending, t.ownIncrement(e))
			}
		} else if err := c.apply(ctx, t, ids); err != nil {
			return s, err
		}
	}
	if l.shared && c.readOnly() {
		return sight{locks: t.share(l.clause)}, nil
	}
	if l.clause != "" {
		return c.lockingSight(ctx, t, l, k)
	}
	own, err := c.ownSight(ctx, t, k.plan.query.stored)
	own.pending = s.pending
	if err != nil || own.locks == "" && !c.shares(k.plan.query) {
		return own, err
	}
	return c.keyedSight(ctx, t, own, k)
}

// shares reports whether the server locks with shared locks what the query reads in the
// open transaction.
func (c *conn) shares(q *query) bool {
	mayWrite := c.next == "" && !c.session.readOnly // READ ONLY refuses FOR UPDATE
	if c.begun() {
		mayWrite = !c.readOnly()
	}
	return q.keyed != nil && c.inTransaction() && mayWrite && (c.level() == serializable || q.stored && c.locksGaps())
}

// keyedSight is how a query that shares sees the rows whose keys it gives: they are
// locked exclusively, and their slots not at all. With a shared lock of both, increments
// would get the row, and wait for the slots: a deadlock when the transaction writes the
// row, and until then all others of their batch would wait, too.
func (c *conn) keyedSight(ctx context.Context, t *table, s sight, k *call) (sight, error) {
	for _, rows := range k.plan.query.keyed {
		where, ok := rows.bind(k.binder())
		if rows.t != t || !ok {
			continue
		}
		locked, err := c.lock(ctx, t, quoteIdent(rows.name), rows.from(), where)
		switch n := errorNumber(err); {
		case badValue[n], denied[n]: // the query itself says what is wrong with it, or may do with shared locks
			continue
		case err != nil:
			return s, err
		}
		more, err := c.correctionsOf(ctx, t, locked)
		if err != nil {
			return s, err
		}
		s.own = append(s.own, more...)
	}
	s.locks = shareMode
	return s, nil
}

// correctionsOf gives the slots of locked rows as they are.
func (c *conn) correctionsOf(ctx context.Context, t *table, locked []lockedRow) ([]correction, error) {
	var all []correction
	for _, r := range locked {
		row := writtenRow{base: t.where(r.key, quoteIdent(t.spec.name)), slots: t.where(r.key, privateName)}
		if err := c.sums(ctx, t, &row); err != nil {
			return nil, err
		}
		all = append(all, correction{where: row.base, amounts: row.sums})
	}
	return all, nil
}

// show prepares a query that reads no counter. Plain MySQL would have written
// the rows that the transaction has incremented, and shows their other columns as
// they were then, not as of an older snapshot.
func (c *conn) show(ctx context.Context, k *call) error {
	x := c.open()
	if x == nil || x.isolation != repeatableRead {
		return nil
	}
	for _, t := range k.plan.shows {
		if p := x.pending[t.String()]; !p.some() || !p.late || t.spec.readOwn == ReadOwnSnapshot {
			continue
		}
		if ids, may := k.mayRead(t); may {
			if err := c.apply(ctx, t, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownSight corrects the slots of the rows that the transaction has written. What is
// read to be stored is read as it is now, by all servers.
func (c *conn) ownSight(ctx context.Context, t *table, stored bool) (sight, error) {
	var s sight
	x := c.transaction()
	w := x.written[t.String()]
	if x.isolation != repeatableRead || w == nil {
		return s, nil
	}
	if w.any {
		s.locks = shareMode
		return s, nil
	}
	if err := c.settle(ctx, w); err != nil {
		return s, err
	}
	if err := c.thaw(ctx, w); err != nil {
		return s, err
	}
	for i := range w.rows {
		if w.rows[i].doubt == absent {
			continue
		}
		if err := c.sums(ctx, t, &w.rows[i]); err != nil {
			return s, err
		}
		now := correction{where: w.rows[i].base, amounts: w.rows[i].sums}
		if w.rows[i].vain != nil && !stored {
			now.amounts, now.vain = w.rows[i].vain, true
		}
		s.own = append(s.own, now)
	}
	return s, nil
}

// lockingSight is how a locking SELECT sees a table: as it is now. The rows are
// locked first, which keeps their slots as they are; reading those under locks
// as well would keep others from the first slots of neighbouring keys.
func (c *conn) lockingSight(ctx context.Context, t *table, l locking, k *call) (sight, error) {
	s := sight{locks: l.clause}
	for _, rows := range k.plan.query.first {
		where, ok := rows.bind(k.binder())
		if rows.t != t || !ok || where == "" {
			continue
		}
		locked, err := c.lockAs(ctx, t, quoteIdent(rows.name), rows.from(), where, s.locks)
		if err != nil || len(locked) > maxWritten {
			return s, err
		}
		more, err := c.correctionsOf(ctx, t, locked)
		if err != nil {
			return s, err
		}
		s.own = append(s.own, more...)
	}
	return s, nil
}

// mayRead are the ids of the pending increments that the statement may see, if
// it says which rows it reads; nil: all. may is false if there are none.
func (k *call) mayRead(t *table) (ids []string, may bool) {
	if k.pins == nil {
		return nil, true
	}
	b := k.binder()
	for _, p := range k.pins {
		id, ok := p.key(t, b)
		if !ok {
			return nil, true
		}
		if x := k.conn.tx.pending[t.String()]; x != nil && x.entries.get(id.id()) != nil {
			ids = append(ids, id.id())
		}
	}
	return ids, ids != nil
}

func (t *table) ownIncrement(e *entry) correction {
	k := correction{where: t.where(e.key, quoteIdent(t.spec.name)), amounts: map[string]string{}}
	for i, col := range t.counters {
		if e.deltas[i] != 0 {
			k.amounts[col.name] = col.formatUnits(e.deltas[i])
		}
	}
	for i, col := range t.touch {
		if e.touch[i] != "" {
			k.amounts[col.name] = "CAST(" + e.touch[i] + " AS " + col.moments() + ")"
		}
	}
	return k
}

// sums reads the slots of a row that the transaction has written. Its lock on
// the base row keeps them as they are.
func (c *conn) sums(ctx context.Context, t *table, row *writtenRow) error {
	if row.sums != nil {
		return nil
	}
	var cols []string
	for _, col := range t.counters {
		cols = append(cols, "CAST(COALESCE(SUM("+quoteIdent(col.name)+"), 0) AS CHAR)")
	}
	for _, col := range t.touch {
		newest := "MAX(" + quoteIdent(col.name) + ")" // under ORACLE, MariaDB's CONCAT leaves NULL out
		cols = append(cols, "IF("+newest+" IS NULL, 'NULL', CONCAT('CAST(''', "+newest+", ''' AS DATETIME("+strconv.Itoa(col.scale)+"))'))")
	}
	group := ""
	if len(t.key) > 0 {
		group = " GROUP BY " + strings.Join(quoteNames(t.key), ", ")
	}
	known := "1"
	if conds := t.asKnown(quoteIdent(t.spec.name), true); conds != nil {
		known = "(SELECT MIN((" + strings.Join(conds, " AND ") + ") IS TRUE) FROM " + t.base() + " WHERE " + row.base + ")"
	}
	rows, err := c.outside(ctx, "SELECT "+t.selectKey(privateName)+", "+strings.Join(cols, ", ")+", "+known+
		" FROM "+t.slots()+" AS "+privateName+" WHERE "+row.slots+" AND "+t.planned(privateName)+group)
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		if err := c.stillKnown(ctx, t, rows[0][len(rows[0])-1] != "0", nil); err != nil {
			return err
		}
	}
	row.sums = t.noSums()
	if len(rows) != 1 || c.transaction().writtenTo(t).taken.get(key(rows[0][:len(t.key)]).id()) {
		return nil // the transaction has taken them itself, which others do not see yet
	}
	for i, col := range slices.Concat(t.counters, t.touch) {
		row.sums[col.name] = rows[0][max(len(t.key), 1)+i]
	}
	return nil
}

// settle drops the rows that a statement may not have changed, which the server
// does not tell of an upsert, nor of an UPDATE with clientFoundRows: the
// transaction sees them as of its snapshot, and so does a read without locks,
// unlike one with. A row that is not there may have been taken away, by another key
// or a DELETE: look-ups of others still find it, so it stays noted.
func (c *conn) settle(ctx context.Context, w *written) error {
	for i := 0; i < len(w.rows); i++ {
		if w.rows[i].doubt != matched {
			continue
		}
		cols := make([]string, len(w.t.counters))
		for j, col := range w.t.counters {
			cols[j] = quoteIdent(col.name)
		}
		query := "SELECT " + strings.Join(cols, ", ") + " FROM " + w.t.base() + " WHERE " + w.rows[i].base
		seen, err := c.read(ctx, query)
		if err != nil {
			return err
		}
		if seen == nil { // FOR UPDATE would lock its place
			w.rows[i].doubt = absent
			continue
		}
		now, err := c.read(ctx, c.unsnapshot()+query+" FOR UPDATE")
		if err != nil {
			return err
		}
		if slices.EqualFunc(seen, now, slices.Equal[[]string]) {
			w.rows[i].doubt = noDoubt
			continue
		}
		w.rows = slices.Delete(w.rows, i, i+1)
		i--
	}
	return nil
}

// thaw shows rows as they are now that looked as of the snapshot, and that the
// application has written since: by which key ever, the server tells whether it is the
// same row.
func (c *conn) thaw(ctx context.Context, w *written) error {
	for i := range w.rows {
		row := &w.rows[i]
		if row.vain == nil || row.apart == w.writes {
			continue
		}
		var others []string
		for j := range w.rows {
			if j != i && w.rows[j].vain == nil {
				others = append(others, "("+w.rows[j].base+")")
			}
		}
		if others != nil {
			same, err := c.read(ctx, "SELECT 1 FROM "+w.t.base()+" WHERE ("+row.base+") AND ("+strings.Join(others, " OR ")+")")
			if err != nil {
				return err
			}
			if same != nil {
				row.vain = nil
			}
		}
		row.apart = w.writes
	}
	return nil
}

// snapshotTotals reads, before rows are rolled up inside a transaction that has
// a snapshot, what that snapshot shows of them.
func (c *conn) snapshotTotals(ctx context.Context, t *table, rows []lockedRow, found map[string][]slotRow) (map[string][]string, error) {
	if len(found) == 0 || !c.fixed || !c.inTransaction() || c.transaction().isolation != repeatableRead || c.transaction().writtenTo(t).any {
		return nil, nil
	}
	keys := make([]key, len(rows))
	for i, r := range rows {
		keys[i] = r.key
	}
	s, err := c.ownSight(ctx, t, false)
	if err != nil {
		return nil, err
	}
	name := quoteIdent(t.spec.name)
	var cols []string
	for _, col := range slices.Concat(t.counters, t.touch) {
		cols = append(cols, "CAST("+name+"."+quoteIdent(col.name)+" AS CHAR)")
	}
	totals := map[string][]string{}
	for batch := range slices.Chunk(keys, c.several(t, sendBatch, slices.Values(keys))) {
		read, err := c.read(ctx, "SELECT "+t.selectKey(name)+", "+strings.Join(cols, ", ")+" FROM "+t.view(s, "", t.summed())+" AS "+name+" WHERE "+t.whereAnyOrAll(batch, name))
		if err != nil {
			return nil, err
		}
		for _, r := range read {
			totals[key(r[:len(t.key)]).id()] = r[max(len(t.key), 1):]
		}
	}
	return totals, nil
}

// time is the SQL of a touch column's value that was read as text.
func (c *column) time(text string) string {
	if text == "" {
		return "NULL"
	}
	return "CAST('" + text + "' AS " + c.moments() + ")"
}

// noAmounts adds nothing to the counters of a row.
func (t *table) noAmounts() map[string]string {
	amounts := map[string]string{}
	for _, col := range t.counters {
		amounts[col.name] = "0"
	}
	return amounts
}

// noSums are the sums of no slots.
func (t *table) noSums() map[string]string {
	sums := t.noAmounts()
	for _, col := range t.touch {
		sums[col.name] = "NULL"
	}
	return sums
}
