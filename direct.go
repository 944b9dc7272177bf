package countermysql

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// An increment that meets no other changes the base row itself, where it is as right as
// in a slot, and leaves nothing that reads would have to add up. It never waits for the
// row's lock: who waits there keeps everybody behind him from it, and can deadlock with
// two transactions that share it through foreign keys. If the lock is refused, the
// increment goes to a slot, and its key counts as hot.

// maxDirect bounds the increments of a table that are on their way to base rows side by
// side. Beyond it they gather: one COMMIT for many is quicker then.
const maxDirect = 8

// errNotDirect says that an increment has to go to a slot. Nothing was done.
var errNotDirect = errors.New("countermysql: the increment has to go to a slot")

// cools reports whether base rows may take increments that meet no others. Where a lock
// that is refused may roll the transaction back, they may not inside one
// (https://mariadb.com/kb/en/innodb-system-variables/#innodb_rollback_on_timeout).
func (c *conn) cools(b *batch) bool {
	t := b.t
	return c.connector.cools() && c.session.strict && !t.galera && len(t.key) > 0 && !(t.rollsBack && c.inTransaction())
}

// sendDirect adds an increment to its base row. later leaves out a row that was touched
// later.
func (c *conn) sendDirect(ctx context.Context, b *batch, e *entry, later bool) error {
	counts := slices.ContainsFunc(e.deltas, func(d int64) bool { return d != 0 }) // or all of it has cancelled out but a time
	if !counts || !c.cools(b) || e.key == nil || b.slotted.hot(e.key) {
		return errNotDirect
	}
	return c.changeDirectly(ctx, b, c.directly(b, e, later), func() key { return e.key })
}

// directly is the statement for an increment of a base row.
func (c *conn) directly(b *batch, e *entry, later bool) string {
	u := &upsert{t: b.t, name: b.name, cols: b.cols, entries: []*entry{e}}
	used, touched := u.used()
	return string(newDirectTemplate(b.t, b.name, used, touched, later).fill(nil, c.noWaiting(), "", 0, u))
}

// fillDirectly is sendDirect for the increment in the filler; sent is false for an argument
// without an exact text.
func (c *conn) fillDirectly(ctx context.Context, inc *increment) (sent bool, err error) {
	b, k := inc.batch, key(nil)
	if b == nil || !c.cools(b) {
		return false, errNotDirect
	}
	if b.slotted.some.Load() {
		if k = c.filler.key(); k == nil || b.slotted.hot(k) {
			return false, errNotDirect
		}
	}
	defer b.direct.Add(-1)
	if b.direct.Add(1) > maxDirect {
		return false, errNotDirect
	}
	text, ok := c.filler.direct(c.noWaiting())
	if !ok {
		return false, nil
	}
	return true, c.changeDirectly(ctx, b, text, c.filler.key)
}

// changeDirectly sends the UPDATE of one base row.
func (c *conn) changeDirectly(ctx context.Context, b *batch, text string, k func() key) error {
	inside := c.inTransaction() // a deadlock ends the transaction, with all that was in it
	affected, err := c.do(ctx, text)
	switch n := errorNumber(err); {
	case err == nil && affected == 0:
		return errRowGone
	case n == errLockWait || n == errNoWait:
		c.unheard(err)
		if k := k(); k != nil {
			b.slotted.meet(k)
		}
		return errNotDirect
	case n == errOutOfRange, badValue[n], n == errDeadlock && !inside:
		return errNotDirect
	}
	return err
}

// noWaiting lets MariaDB refuse a lock at once
// (https://mariadb.com/kb/en/innodb-system-variables/#innodb_lock_wait_timeout).
func (c *conn) noWaiting() string {
	switch s := c.connector.current.Load(); {
	case s == nil || !s.server.mariaDB:
		return ""
	case c.session.snapshot:
		return "SET STATEMENT innodb_lock_wait_timeout=0, innodb_snapshot_isolation=OFF FOR "
	}
	return "SET STATEMENT innodb_lock_wait_timeout=0 FOR "
}

// newDirectTemplate makes the UPDATE of one base row that conditions call name. MySQL,
// which can't do without waiting otherwise, locks the row in a subquery, a constant to it
// that it evaluates first; and in that, a derived table may be of the table that is updated
// (https://dev.mysql.com/doc/refman/8.4/en/subquery-restrictions.html).
func newDirectTemplate(t *table, name string, used, touched []int, later bool) template {
	base := quoteIdent(name)
	var tp template
	var text strings.Builder
	cut := func(h hole, i int) {
		tp = append(tp, piece{text.String(), h, i})
		text.Reset()
	}
	text.WriteString("UPDATE " + t.base() + " AS " + base + " SET ")
	for n, i := range used {
		if n > 0 {
			text.WriteString(", ")
		}
		ref := base + "." + quoteIdent(t.counters[i].name)
		text.WriteString(ref + " = " + ref + " + ")
		cut(holeDelta, i)
	}
	for _, i := range touched {
		ref := base + "." + quoteIdent(t.touch[i].name)
		text.WriteString(", " + ref + " = GREATEST(COALESCE(" + ref + ", ")
		cut(holeTouch, i)
		text.WriteString("), ")
		cut(holeTouch, i)
		text.WriteString(")")
	}
	text.WriteString(" WHERE (")
	cut(holeWhere, 0)
	text.WriteString(")")
	for _, i := range used {
		text.WriteString(" AND " + base + "." + quoteIdent(t.counters[i].name) + " IS NOT NULL")
	}
	if later {
		for _, i := range touched {
			col := base + "." + quoteIdent(t.touch[i].name)
			text.WriteString(" AND (" + col + " IS NULL OR " + col + " <= ")
			cut(holeTouch, i)
			text.WriteString(")")
		}
	}
	if !t.mariaDB {
		text.WriteString(" AND (SELECT 1 FROM (SELECT " + base + "." + quoteIdent(t.counters[used[0]].name) + " FROM " + t.base() + " AS " + base + " WHERE ")
		cut(holeWhere, 0)
		text.WriteString(" FOR UPDATE NOWAIT) AS " + privateRows + ") IS NOT NULL")
	}
	cut(noHole, 0)
	return tp
}
