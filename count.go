package countermysql

import (
	"context"
	"errors"
	"slices"
)

// bound is an increment with its arguments.
type bound struct {
	*increment
	conditions []string // one, or one for each row of an upsert
	deltas     [][]int64
	touch      []string // by touch column of the table; "" if not touched
	id         string   // the row's key, if that is all of the condition and one integer; or ""
	named      []key    // by the rows of an upsert; nil: in other words than the server's
	zero       bool     // adds nothing
}

// bind puts the arguments in; false where the exact way is needed.
func (inc *increment) bind(b binder) (*bound, bool) {
	out := &bound{increment: inc, touch: make([]string, len(inc.t.touch))}
	if !inc.times(b, out.touch) {
		return nil, false
	}
	if len(inc.rows) > 0 {
		return out, inc.bindRows(b, out)
	}
	deltas, zero, ok := inc.sum(inc.deltas, b)
	if !ok {
		return nil, false
	}
	out.deltas, out.zero = [][]int64{deltas}, zero
	if inc.where.pieces == nil {
		return out, true // verbatim: only the deltas had to be looked at
	}
	where, ok := inc.where.bind(b)
	if !ok {
		out.zero = true // an argument without an exact text: verbatim
	}
	out.conditions = []string{where}
	if inc.batch != nil && inc.byKey && !inc.narrowed && len(inc.t.key) == 1 && inc.t.key[0].integer() {
		if id, ok := b.keyText(inc.t.key[0], inc.pin.values[0]); ok {
			out.id = id
		}
	}
	return out, true
}

// times writes what the touch columns are set to; "" if nothing.
func (inc *increment) times(b binder, into []string) bool {
	for i, c := range inc.t.touch {
		if c.onUpdate {
			into[i] = currentTimestamp(int64(c.scale))
		}
		for _, set := range inc.touch {
			if set.c == c {
				at, ok := set.sql(b)
				if !ok {
					return false
				}
				into[i] = at
			}
		}
	}
	return true
}

// units writes the deltas in the order of the table's counters. zero says that
// they are no increment: they add nothing, or may only make a number of NULL.
func (inc *increment) units(deltas []delta, b binder, into []int64) (zero, ok bool) {
	zero = true
	fills := false
	for _, d := range deltas {
		n, ok := d.units(b)
		if !ok {
			return false, false
		}
		for i, c := range inc.t.counters {
			if c == d.c {
				into[i] = n
			}
		}
		zero = zero && n == 0
		fills = fills || n == 0 && d.fills && d.c.nullable
	}
	return zero || fills, true
}

func (inc *increment) sum(deltas []delta, b binder) (sums []int64, zero, ok bool) {
	sums = make([]int64, len(inc.t.counters))
	zero, ok = inc.units(deltas, b, sums)
	return sums, zero, ok
}

// bindRows binds the rows of an upsert.
func (inc *increment) bindRows(b binder, out *bound) bool {
	zero := false
	var named []key
	for _, r := range inc.rows {
		where, ok := r.key.bind(inc.name, b)
		zero = zero || !ok
		if id, ok := r.key.key(inc.t, b); ok && len(inc.rows) > 1 {
			named = append(named, id)
		}
		for _, v := range r.values {
			n, ok := delta{c: v.c, v: v.v}.units(b)
			zero = zero || !ok || !v.c.holds(n)
		}
		deltas, none, ok := inc.sum(r.deltas, b)
		if !ok {
			return false
		}
		zero = zero || none
		out.conditions = append(out.conditions, where)
		out.deltas = append(out.deltas, deltas)
	}
	out.zero = zero // a row that changes nothing, or that an INSERT would refuse: verbatim
	if len(named) == len(inc.rows) {
		out.named = named
	}
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
	notTried after = iota
	done
	takeVerbatim
	takeExact
)

// mayCut reports whether the server may cut what the base row alone would hold,
// although it would not cut the sum. (What adds to an UNSIGNED counter can't: its
// slots are never below zero.)
func (c *conn) mayCut(p *plan) bool {
	return (p.increment.ignores || !c.session.strict) &&
		slices.ContainsFunc(p.increment.deltas, func(d delta) bool { return !d.c.unsigned() })
}

// increment runs a relative write as an increment, if it is one with the
// arguments of this call.
func (c *conn) increment(ctx context.Context, k *call) (outcome, after, error) {
	inc := k.plan.increment
	if c.xaEnded || c.savedUnbegun() || k.miscounted() || c.session.safe && len(inc.t.key) == 0 { // which the server refuses
		return outcome{}, takeVerbatim, nil
	}
	floats := k.floats()
	if inc.text != nil && !inc.verbatim() && !c.inTransaction() && !floats {
		if out, how, err := c.countAlone(ctx, k); how != notTried {
			return out, how, err
		}
	}
	b, ok := inc.bind(k.binder())
	ok = ok && !floats
	if ok && (b.zero || k.plan.class != counting || inc.verbatim() || c.open().holds(inc.t) || !k.binder().soundPins(inc.pins)) {
		return outcome{}, takeVerbatim, nil // whether it begins a transaction is for the server to say
	}
	if err := c.beginImplied(ctx); err != nil {
		return outcome{}, done, err
	}
	switch {
	case !ok:
		return outcome{}, takeExact, nil
	case c.inTransaction() && (c.transaction().isolation == serializable || c.readOnly() || !c.usable()),
		(c.inTransaction() || !inc.one) && inc.warns(k.binder()): // it is looked up
		return outcome{}, takeVerbatim, nil
	}
	return c.count(ctx, k, b)
}

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
	entries, ok := b.merged(hits)
	if !ok {
		return outcome{}, takeVerbatim, nil
	}
	if len(entries) > c.several(b.t, len(entries), eachOf(entries, (*entry).keyOf)) {
		return outcome{}, takeExact, nil // its own text says of them in few words
	}
	way := b.t.batch(b.name, b.t.key)
	if u := c.incrementUnit(entries); c.grouped() && u.fits() {
		switch v := c.together(ctx, way, u); {
		case v.err != nil:
			return outcome{}, done, v.err
		case !v.alone:
			return c.counted(k, b.increment, int64(len(hits))), done, nil
		}
	}
	defer c.unlease()
	switch err := c.sendUpsert(ctx, way.waiting(c, entries), false); {
	case errors.Is(err, errRowGone):
		return outcome{}, takeExact, nil
	case err != nil:
		return outcome{}, done, err
	}
	c.connector.slotted(way, entries)
	return c.counted(k, b.increment, int64(len(hits))), done, nil
}

// merged are the increments of rows that were found, in the order in which they are
// sent; ok is false where a sum leaves 64 bits.
func (b *bound) merged(hits []entry) (entries []*entry, ok bool) {
	p := &pending{t: b.t}
	for _, h := range hits {
		if !b.byKey || b.narrowed { // others may change the row before it is locked
			h.rest = b.conditions[0]
			h.id += "\x01" + h.rest
			h.where = b.t.where(h.key, quoteIdent(b.name)) + " AND (" + h.rest + ")"
		}
		if !p.add(h) {
			return nil, false
		}
	}
	return p.sorted(), true
}

// counted is the answer that the plain statement would have given.
func (c *conn) counted(k *call, inc *increment, rows int64) outcome {
	if inc.rows != nil {
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

// countAlone sends an increment of one row that nobody can go with. It does not
// wait in the group for a base row that somebody has locked.
func (c *conn) countAlone(ctx context.Context, k *call) (outcome, after, error) {
	inc := k.plan.increment
	if !c.filler.bind(inc, k.binder()) {
		return outcome{}, notTried, nil
	}
	var lead turn
	lock, together := inc.t.lock(), inc.batch != nil && c.grouped()
	if sent, err := c.fillDirectly(ctx, inc); !errors.Is(err, errNotDirect) {
		if !sent {
			return outcome{}, notTried, nil
		}
		if err == nil {
			c.connector.stats.increments.Add(1)
		}
		if together {
			c.connector.stats.batch(1)
		}
		return c.sent(k, inc, err)
	}
	if together {
		if lead = inc.batch.group.enter(); lead == 0 {
			return outcome{}, notTried, nil
		}
		lock = inc.t.noWait()
	}
	send := func() (bool, error) {
		text, ok := c.filler.statement(c.insert(), lock, c.slot(inc.t))
		if !ok {
			return false, nil
		}
		defer c.unlease()
		err := c.sendUpsert(ctx, text, true)
		if err == nil && inc.batch != nil && c.connector.cools() {
			c.connector.slotted(inc.batch, []*entry{{key: c.filler.key()}})
		}
		return true, err
	}
	first := func() (bool, error) {
		if together {
			defer inc.batch.group.leave(lead)
			defer c.connector.stats.batch(1)
		}
		return send()
	}
	sent, err := first()
	if together && err != nil && undone(err) && !errors.Is(err, errRowGone) {
		c.unheard(err)
		lock = inc.t.lock()
		sent, err = send()
	}
	if !sent {
		return outcome{}, notTried, nil
	}
	if err == nil {
		c.connector.stats.increments.Add(1)
	}
	return c.sent(k, inc, err)
}

// sent says how an increment of one row goes on that was sent by itself.
func (c *conn) sent(k *call, inc *increment, err error) (outcome, after, error) {
	switch {
	case err == nil:
		return c.counted(k, inc, 1), done, nil
	case errorNumber(err) == errOutOfRange:
		return outcome{}, takeExact, nil // the slot is full
	case !errors.Is(err, errRowGone):
		return outcome{}, done, err
	case len(inc.t.touch) > 0:
		return outcome{}, takeExact, nil // perhaps it has a touch column in the future
	}
	return outcome{}, takeVerbatim, nil
}

// countOne adds an increment of one row in one round trip, together with those
// of others where it can. If no row took it, the statement itself finds out why.
func (c *conn) countOne(ctx context.Context, k *call, b *bound) (outcome, after, error) {
	defer c.unlease()
	e, joins := k.entryOf(b)
	if joins {
		switch v := c.together(ctx, b.batch, c.incrementUnit([]*entry{e})); {
		case v.err != nil:
			return outcome{}, done, v.err
		case !v.alone:
			return c.counted(k, b.increment, 1), done, nil
		case v.gone:
			return c.sent(k, b.increment, errRowGone)
		}
	}
	err := c.sendUpsert(ctx, c.upsertOne(b, e), true)
	if err == nil && joins {
		c.connector.slotted(b.batch, []*entry{e})
	}
	return c.sent(k, b.increment, err)
}

// entryOf is the increment of one row, and whether it may go together with others.
func (k *call) entryOf(b *bound) (e *entry, joins bool) {
	if b.batch != nil && k.conn.grouped() {
		if e, ok := b.increment.entry(k.binder(), b); ok {
			return e, true
		}
	}
	return &entry{deltas: b.deltas[0], touch: b.touch, where: b.conditions[0]}, false
}

// upsertOne is the statement of one row's increment that goes by itself.
func (c *conn) upsertOne(b *bound, e *entry) string {
	u := c.upsert(b.t, []*entry{e})
	u.name, u.later = b.name, true
	if e.where != "" {
		u.cols = b.pins[0].cols
	}
	return u.one()
}

// countLater adds an increment to the transaction's pending ones. The rows are
// looked up, at once or when that is asked for, so that RowsAffected is true.
func (c *conn) countLater(ctx context.Context, k *call, b *bound) (outcome, after, error) {
	if c.mayPromise(k, b) {
		return outcome{res: c.promise(b)}, done, nil
	}
	if err := c.keepPromises(ctx); err != nil {
		return outcome{}, done, err
	}
	hits, how, err := c.findAll(ctx, b)
	if err != nil || how != done {
		return outcome{}, how, err
	}
	if err := c.addPending(ctx, b.t, hits, c.fixed); err != nil {
		return outcome{}, done, err
	}
	c.transaction().increments++
	c.connector.stats.pending.Add(1)
	return c.counted(k, b.increment, int64(len(hits))), done, nil
}

// addPending adds increments of rows that were found to the transaction's pending ones.
func (c *conn) addPending(ctx context.Context, t *table, hits []entry, late bool) error {
	p := c.transaction().pendingFor(t)
	for _, h := range hits {
		if !p.add(h) {
			if err := c.apply(ctx, t, nil); err != nil {
				return err
			}
			p = c.transaction().pendingFor(t)
			p.add(h)
		}
	}
	p.late = p.late || late
	return nil
}
