package countermysql

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// bound is an increment with its arguments.
type bound struct {
	*increment
	conditions []string // one, or one for each row of an upsert
	deltas     [][]int64
	touch      []string // by touch column of the table; "" if not touched
	explicit   []bool   // the statement sets the touch column itself
	zero       bool     // adds nothing
}

// bind puts the arguments in; false where the exact way is needed.
func (inc *increment) bind(b binder) (*bound, bool) {
	out := &bound{increment: inc, touch: make([]string, len(inc.t.touch)), explicit: make([]bool, len(inc.t.touch))}
	for i, c := range inc.t.touch {
		if c.onUpdate {
			out.touch[i] = currentTimestamp(c)
		}
		for _, set := range inc.touch {
			if set.c == c {
				at, ok := set.sql(b)
				if !ok {
					return nil, false
				}
				out.touch[i], out.explicit[i] = at, true
			}
		}
	}
	if len(inc.rows) > 0 {
		return out, inc.bindRows(b, out)
	}
	deltas, ok := inc.sum(inc.deltas, b, out)
	if !ok {
		return nil, false
	}
	out.deltas = [][]int64{deltas}
	if inc.where.pieces == nil {
		return out, true // verbatim: only the deltas had to be looked at
	}
	where, ok := inc.where.bind(b)
	if !ok {
		out.zero = true // an argument without an exact text: verbatim
	}
	out.conditions = []string{where}
	return out, true
}

// sum orders the deltas by the table's counters.
func (inc *increment) sum(deltas []delta, b binder, out *bound) ([]int64, bool) {
	sums := make([]int64, len(inc.t.counters))
	out.zero = true
	for _, d := range deltas {
		n, ok := d.units(b)
		if !ok {
			return nil, false
		}
		for i, c := range inc.t.counters {
			if c == d.c {
				sums[i] = n
			}
		}
		out.zero = out.zero && n == 0
	}
	return sums, true
}

// bindRows binds the rows of an upsert.
func (inc *increment) bindRows(b binder, out *bound) bool {
	zero := false
	for _, r := range inc.rows {
		where, ok := r.key.bind(inc.name, b)
		zero = zero || !ok
		for _, v := range r.values {
			n, ok := delta{c: v.c, v: v.v}.units(b)
			zero = zero || !ok || !v.c.holds(n)
		}
		deltas, ok := inc.sum(r.deltas, b, out)
		if !ok {
			return false
		}
		zero = zero || out.zero
		out.conditions = append(out.conditions, where)
		out.deltas = append(out.deltas, deltas)
	}
	out.zero = zero // a row that changes nothing, or that an INSERT would refuse: verbatim
	return true
}

// holds reports whether an integer column can store n.
func (c *column) holds(n int64) bool {
	bits := integerBits[c.dataType]
	switch {
	case bits == 0:
		return false
	case c.unsigned():
		return n >= 0 && (bits == 64 || n < 1<<bits)
	}
	return bits == 64 || n >= -1<<(bits-1) && n < 1<<(bits-1)
}

// after says how a statement goes on that was tried as an increment.
type after uint8

const (
	done after = iota
	takeVerbatim
	takeExact
)

// count runs an increment: at once outside a transaction, pending inside.
func (c *conn) count(ctx context.Context, k *call, b *bound) (outcome, after, error) {
	c.connector.stats.increments.Add(1)
	if c.inTransaction() {
		return c.countLater(ctx, k, b)
	}
	if len(b.conditions) == 1 && b.one {
		return c.countOne(ctx, k, b)
	}
	hits, how, err := c.findAll(ctx, b)
	if err != nil || how != done {
		return outcome{}, how, err
	}
	p := &pending{t: b.t, entries: map[string]*entry{}}
	for _, h := range hits {
		if !p.add(h.entry) {
			return outcome{}, takeVerbatim, nil
		}
	}
	defer c.unlease()
	switch err := c.sendTable(ctx, p.t, p.sorted()); {
	case errors.Is(err, errRowGone):
		return outcome{}, takeVerbatim, nil
	case err != nil:
		return outcome{}, done, err
	}
	return c.counted(k, b, int64(len(hits))), done, nil
}

// counted is the answer that the plain statement would have given.
func (c *conn) counted(k *call, b *bound, rows int64) outcome {
	if b.rows != nil {
		rows *= 2 // ON DUPLICATE KEY UPDATE reports 2 for a changed row
	}
	c.lastRows = rowCount{rows, true}
	if k.rows {
		return outcome{rows: noRows{}}
	}
	return outcome{res: affected(rows)}
}

// maxRetries bounds how often an increment is sent again after a deadlock that
// undid it.
const maxRetries = 10

// countOne sends an increment of one row in one round trip. If no row took it,
// the statement itself finds out why.
func (c *conn) countOne(ctx context.Context, k *call, b *bound) (outcome, after, error) {
	defer c.unlease()
	e := &entry{deltas: b.deltas[0], touch: b.touch, name: b.name, where: b.conditions[0]}
	stmt := c.oneStatement(b.t, e, true)
	for try := 0; ; try++ {
		n, err := c.do(ctx, stmt)
		switch {
		case errorNumber(err) == errDeadlock && try < maxRetries:
			c.lost = false
		case err != nil:
			return outcome{}, done, err
		case n > 0:
			return c.counted(k, b, 1), done, nil
		case len(b.t.touch) > 0:
			return outcome{}, takeExact, nil // perhaps it has a touch column in the future
		default:
			return outcome{}, takeVerbatim, nil
		}
	}
}

// oneStatement is the strict increment of one row: it reads the base row under
// a shared lock, so that it waits for whoever changes it, and writes nothing if
// there is none. Naming the counters makes the server lock the clustered row.
func (c *conn) oneStatement(t *table, e *entry, unlessLater bool) string {
	name := quoteIdent(e.name)
	var cols, vals, updates, conds []string
	for _, k := range t.key {
		cols = append(cols, quoteIdent(k.name))
		vals = append(vals, name+"."+quoteIdent(k.name))
	}
	cols = append(cols, quoteIdent(t.slotCol))
	vals = append(vals, strconv.Itoa(c.slot(t)))
	for _, i := range usedCounters(t, []*entry{e}) {
		counter := t.counters[i]
		d := counter.formatUnits(e.deltas[i])
		cols = append(cols, quoteIdent(counter.name))
		vals = append(vals, d)
		updates = append(updates, t.addTo(counter, d))
		conds = append(conds, name+"."+quoteIdent(counter.name)+" IS NOT NULL")
	}
	for i, at := range e.touch {
		if at == "" {
			continue
		}
		col := quoteIdent(t.touch[i].name)
		cols = append(cols, col)
		vals = append(vals, at)
		updates = append(updates, col+" = "+later(t.slots()+"."+col, at))
		if unlessLater {
			conds = append(conds, "("+name+"."+col+" IS NULL OR "+name+"."+col+" <= "+at+")")
		}
	}
	if len(t.key) == 0 {
		conds = append(conds, "(SELECT COUNT(*) FROM "+t.base()+" LOCK IN SHARE MODE) = 1")
	}
	return c.unsnapshot() + "INSERT INTO " + t.slots() + " (" + strings.Join(cols, ", ") + ") SELECT " + strings.Join(vals, ", ") +
		" FROM " + t.base() + " AS " + name + " WHERE (" + e.where + ") AND " + strings.Join(conds, " AND ") +
		" LOCK IN SHARE MODE ON DUPLICATE KEY UPDATE " + strings.Join(updates, ", ")
}

func (t *table) addTo(c *column, amount string) string {
	col := quoteIdent(c.name)
	return col + " = " + t.slots() + "." + col + " + " + amount
}

// unsnapshot lets MariaDB write a slot that changed since the transaction's
// snapshot (https://mariadb.com/kb/en/innodb-system-variables/#innodb_snapshot_isolation).
func (c *conn) unsnapshot() string {
	if c.session.snapshot {
		return "SET STATEMENT innodb_snapshot_isolation=OFF FOR "
	}
	return ""
}

// countLater adds an increment to the transaction's pending ones. The rows are
// looked up, so that RowsAffected is true when it is returned.
func (c *conn) countLater(ctx context.Context, k *call, b *bound) (outcome, after, error) {
	hits, how, err := c.findAll(ctx, b)
	if err != nil || how != done {
		return outcome{}, how, err
	}
	p := c.transaction().pendingFor(b.t)
	for _, h := range hits {
		if !p.add(h.entry) {
			if err := c.apply(ctx, b.t); err != nil {
				return outcome{}, done, err
			}
			p = c.transaction().pendingFor(b.t)
			p.add(h.entry)
		}
	}
	c.transaction().increments++
	c.connector.stats.pending.Add(1)
	return c.counted(k, b, int64(len(hits))), done, nil
}
