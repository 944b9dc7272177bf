package countermysql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"time"
)

// run executes a statement that is more than simple. Where it meets a slots table
// that another process has given a counter, it has done nothing yet, and is planned anew.
func (c *conn) run(ctx context.Context, k *call) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	returned := false
	defer func() { c.closeUnless(returned) }()
	run := c.runKnown
	if k.encounter != nil {
		run = c.runEncounter
	}
	if !k.plan.leavesPromises() {
		if err := c.keepPromises(ctx); err != nil {
			returned = true
			return outcome{}, err
		}
	}
	out, err := run(ctx, k)
	returned = true
	return out, err
}

// closeUnless closes the connection if an interceptor has panicked: an application that
// recovers could commit what is done by half, or go on in a transaction of the driver's.
func (c *conn) closeUnless(returned bool) {
	if !returned {
		_ = c.raw.Close()
	}
}

// runKnown is run with what is known of the schema, and with what is learnt if that is
// not enough.
func (c *conn) runKnown(ctx context.Context, k *call) (outcome, error) {
	out, err := c.runOnce(ctx, k)
	if wrong := k.misspelt(ctx, err); wrong != nil {
		return outcome{}, c.cut(ctx, c.noted(wrong))
	}
	if errorNumber(err) == errMixedCollations {
		for _, t := range k.plan.tables() {
			if kerr := c.stillKnown(ctx, t, false, nil); kerr != nil {
				err = kerr
			}
		}
	}
	if errors.Is(err, errOtherKey) && c.inTransaction() { // the slots table is to be altered, which would wait for it
		return outcome{}, c.asDeadlock("the key of a table with counters has got another type meanwhile")
	}
	if !errors.Is(err, errOtherSlots) && (k.plan.kind != kindOther || k.plan.split != nil || !c.outdated(ctx, k.plan, err)) {
		return out, c.cut(ctx, err)
	}
	p, err := c.plan(ctx, k.text)
	if err != nil {
		return outcome{}, err
	}
	k.planUse, k.merged = p, nil
	if out, err = c.runOnce(ctx, k); errors.Is(err, errOtherSlots) {
		err = errors.New(err.Error()) // not once more: it may be one of several statements
	}
	return out, c.cut(ctx, err)
}

// cut closes the connection if a context has ended the statement inside a transaction,
// as go-sql-driver does: to end while it waited for others, or for a look-up
// connection, must not leave a transaction that commits without it.
func (c *conn) cut(ctx context.Context, err error) error {
	if err != nil && errors.Is(err, ctx.Err()) && c.inTransaction() {
		c.broken = err
		_ = c.raw.Close()
	}
	return err
}

// outdated reports whether a statement that failed, and did nothing, for want of a
// table or column, or because a slots table has got a key of more columns or the table is
// a view now, was planned by a schema that has changed since. Unless it is known to have, that is looked at once in a
// second at most: the statement may be wrong itself.
func (c *conn) outdated(ctx context.Context, p *plan, err error) bool {
	if n := errorNumber(err); n != errNoColumn && n != errNoTable && (n != errNoDefault && n != errNoIndex || p.increment == nil) {
		return false
	}
	old := c.connector.current.Load()
	if old == nil { // the sql.DB was closed meanwhile
		return false
	}
	if p.increment != nil && old.lookup(p.increment.t.spec.db, p.increment.t.spec.name, "") != p.increment.t {
		return true
	}
	slots := p.class == counting && errorNumber(err) == errNoDefault || // all columns that are known have values: it has met another one
		errorNumber(err) == errNoColumn && strings.Contains(err.Error(), slotColumn+"'") // the slots table is for another key
	if !slots && c.connector.age() < time.Second && !c.connector.changed() {
		return false
	}
	s, lerr := c.connector.learn(ctx)
	return lerr == nil && s != old
}

func (c *conn) runOnce(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	c.locking = p.locking
	defer func() { c.locking = false }()
	if p.increment == nil {
		if err := c.begin(ctx); err != nil {
			return outcome{}, err
		}
	}
	if p.split != nil && c.connector.cfg.MultiStatements && k.stmt == nil && k.interpolated() {
		return c.runSplit(ctx, k)
	}
	if p.class == refused {
		return outcome{}, p.err
	}
	if p.kind != kindOther {
		return c.runKind(ctx, k)
	}
	return c.runData(ctx, k)
}

// runKind executes a statement that changes the session or its transaction.
func (c *conn) runKind(ctx context.Context, k *call) (outcome, error) {
	switch k.plan.kind {
	case kindBegin, kindCommit, kindDDL, kindImplicit, kindLock:
		return c.runCommit(ctx, k)
	case kindRollback:
		out, err := k.forward(ctx, k.text)
		if err == nil || !c.inTransaction() { // XA ROLLBACK of another transaction fails
			c.endedByUser()
		}
		return out, err
	case kindSavepoint, kindRollbackTo, kindRelease:
		return c.runSavepoint(ctx, k)
	case kindTemporary:
		return c.runTemporary(ctx, k)
	case kindAutocommit:
		return c.runAutocommit(ctx, k)
	case kindSetTransaction:
		return c.runSetTransaction(ctx, k)
	case kindSet:
		return c.runSet(ctx, k)
	case kindUnlock:
		out, err := k.forward(ctx, k.text)
		if err == nil {
			c.locks = unlocked
		}
		return out, err
	case kindCall, kindExecute:
		return c.runAnything(ctx, k)
	}
	return c.runData(ctx, k)
}

// runCommit executes a statement that commits what is open.
func (c *conn) runCommit(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	send := c.sendOrRollBack
	if p.arg == xaEnd { // a prepared transaction may lose the shared locks that keep others from its slots
		send = c.applyAll
	}
	if err := send(ctx); err != nil {
		if p.arg == xaEnd && !c.begun() { // a deadlock has ended it, but MySQL wants XA END before XA ROLLBACK and all else
			_, _ = k.forward(context.WithoutCancel(ctx), k.text) // which says no more than that
		}
		return outcome{}, err
	}
	next := c.begins()
	out, err := c.runDDL(ctx, k)
	switch {
	case p.arg == xaEnd && err == nil:
		c.ended()
		c.xaEnded = true
	case p.kind == kindCommit && err == nil:
		c.endedByUser()
	case p.kind == kindBegin && err == nil:
		c.ended()
		c.next, c.fixed = next, p.arg == withSnapshot
	case err == nil && !c.begun(), !c.inTransaction(): // DROP PREPARE and the like commit nothing
		c.ended()
	}
	return out, err
}

// runAnything executes CALL, EXECUTE and the like, which may read and write
// counters and end the transaction.
func (c *conn) runAnything(ctx context.Context, k *call) (outcome, error) {
	if err := c.changes(ctx, k.text); err != nil {
		return outcome{}, err
	}
	if err := c.settleAll(ctx, k); err != nil {
		return outcome{}, err
	}
	out, err := c.forwardWatched(ctx, k)
	if k.plan.kind == kindExecute && !tokenize(k.text, c.session.mode)[0].is("PREPARE") {
		c.connector.changes.Add(1)
	}
	if rows, ok := out.rows.(physicalRows); ok { // the server tells only behind them whether the transaction is over
		out.rows = &countedRows{physicalRows: rows, finish: func(error) error {
			c.noteAnything(k.plan)
			return nil
		}}
		return out, err
	}
	c.noteAnything(k.plan)
	return out, err
}

// noteAnything notes that a statement ran which may have done anything.
func (c *conn) noteAnything(p *plan) {
	if !c.inTransaction() {
		c.ended()
		return
	}
	c.fixed = c.fixed || p.fixes || p.kind != kindAutocommit && p.arg != onlyReads // others may have read anything
	c.transaction().noteCall()
	for _, w := range p.writes {
		c.transaction().writtenTo(w.t).any = true
	}
}

// settleAll makes the base rows say all of what such a statement may read.
func (c *conn) settleAll(ctx context.Context, k *call) error {
	if err := c.applyAll(ctx); err != nil {
		return err
	}
	if err := c.hold(ctx, k.plan, true); err != nil {
		return err
	}
	for _, s := range k.plan.scopes {
		if c.locks != unlocked {
			break // to roll up would unlock
		}
		if err := c.rollUp(ctx, s.t); err != nil {
			return err
		}
	}
	return nil
}

// applyAll takes every pending increment the exact way, before a statement that
// may end the transaction or not.
func (c *conn) applyAll(ctx context.Context) error {
	x := c.open()
	if x == nil {
		return nil
	}
	for _, p := range x.unsent() {
		if err := c.apply(ctx, p.t, nil); err != nil {
			return err
		}
	}
	return nil
}

// runData executes a query or a data change.
func (c *conn) runData(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	if c.locks != unlocked || slices.ContainsFunc(k.args, func(v driver.NamedValue) bool { return v.Name != "" }) {
		return k.forward(ctx, k.text) // ours: all was rolled up, and nobody else writes; others, and for named arguments: the server refuses
	}
	exactly := p.class == exact || p.query != nil && p.query.converted.given(k)
	if p.increment != nil {
		out, how, err := c.increment(ctx, k)
		if err != nil || how == done {
			return out, err
		}
		if err := c.keepPromises(ctx); err != nil {
			return outcome{}, err
		}
		exactly = exactly || how == takeExact || c.mayCut(p)
		if err := c.begin(ctx); err != nil {
			return outcome{}, err
		}
	}
	if !exactly && len(p.touches) > 0 {
		exactly = !p.touchesNow(k.binder())
	}
	if takes := exactly || p.locking; takes || p.increment == nil && p.writes != nil {
		if err := c.hold(ctx, p, takes); err != nil {
			return outcome{}, err
		}
	}
	for _, t := range p.deletes {
		if c.open().hasPending(t) {
			if err := c.apply(ctx, t, nil); err != nil {
				return outcome{}, err
			}
		}
	}
	if p.cleaning != nil {
		if err := c.againAlone(ctx, func() error { return c.clean(ctx, k) }); err != nil {
			return outcome{}, err
		}
	}
	if exactly && p.fallback || c.implies() && (exactly || p.query != nil && (p.query.locking || c.shares(p.query))) {
		if err := k.makesSense(ctx); err != nil {
			return outcome{}, c.noted(k.refused(ctx, err))
		}
	}
	if exactly {
		c.connector.stats.exactly(cmp.Or(p.reason, "an argument, the row's state or the transaction asks for it"))
		return c.runExact(ctx, k)
	}
	out, err := c.runRewritten(ctx, k)
	if err == nil && p.wanted != nil {
		c.connector.want(ctx, k)
	}
	return out, err
}

// runRewritten sends a query or a data change as it is, or with sums where it reads
// counters. What the server refuses for our sake runs the exact way.
func (c *conn) runRewritten(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	text, args, plain, err := c.rewritten(ctx, k)
	if err != nil {
		return outcome{}, err
	}
	if p.query == nil {
		c.connector.stats.plain(p)
	} else if plain {
		if kind := c.looks(k); kind != noLook {
			out, answered, err := c.lookFirst(ctx, k, kind)
			c.fixed = c.fixed || p.fixes && err == nil
			if answered {
				return out, err
			}
		}
	}
	types := c.sessionTypes(ctx, k)
	var out outcome
	err = c.againAlone(ctx, func() (err error) {
		out, err = k.forwardWith(ctx, text, args)
		return err
	})
	if p.query != nil && k.mayFail() {
		out, err = c.overTables(ctx, k, out, err)
	}
	c.fixed = c.fixed || p.fixes && err == nil
	switch n := errorNumber(err); {
	case err == nil:
	case p.query != nil && notResolved[n]:
		if err := k.explained(ctx, n); err != nil {
			return outcome{}, err
		}
		if c.outdated(ctx, p, err) {
			return outcome{}, errOtherSlots
		}
		// perhaps it is the view that the server does not like here: then the base table has to do
		c.connector.stats.exactly("the server does not accept the view")
		return c.runExact(ctx, k)
	case p.increment != nil && (n == errDataRange || n == errOutOfRange):
		c.connector.stats.exactly("the base row without its slots is at the end of its range")
		return c.runExact(ctx, k)
	default:
		return out, err
	}
	c.noteWrites(p.writes, k.binder(), out.affected())
	if (p.query != nil || text != k.text) && k.rows {
		out.rows = c.countedRows(out.rows, k, types)
	}
	return out, nil
}

// rewritten is the text to send for a statement, with views where it reads
// counters, and its arguments. plain says that it reads them as any other session does.
func (c *conn) rewritten(ctx context.Context, k *call) (text string, args []driver.NamedValue, plain bool, err error) {
	p := k.plan
	if p.query == nil {
		if err := c.show(ctx, k); err != nil {
			return "", nil, false, err
		}
		if p.rowCount && c.lastRows.known {
			return withRowCount(k.text, c.session.mode, c.lastRows.rows), k.args, false, nil
		}
		return k.text, k.args, false, nil
	}
	c.connector.stats.sums.Add(1)
	if !p.query.locking && !c.shares(p.query) && c.open() == nil {
		text, args = k.summed()
		return text, args, true, nil
	}
	type use struct {
		t *table
		l locking
	}
	sights := map[use]sight{}
	plain = true
	for _, t := range p.reads {
		for _, l := range p.query.lockings(t) {
			s, err := c.sightOf(ctx, t, l, k)
			if err != nil {
				return "", nil, false, err
			}
			plain = plain && s.locks == "" && s.own == nil && s.pending == nil
			sights[use{t, l}] = s
		}
	}
	if plain {
		text, args = k.summed()
		return text, args, true, nil
	}
	return k.own(p.query.render(func(v viewUse) sight { return sights[use{v.t, v.locks}] }, k.tables)), k.args, false, nil
}

// countedRows gives the rows of a rewritten query the column types of the original,
// if they are not known yet when they are asked for.
func (c *conn) countedRows(rows driver.Rows, k *call, types []columnType) driver.Rows {
	counted, ok := rows.(*countedRows)
	if !ok {
		counted = &countedRows{physicalRows: rows.(physicalRows)}
	}
	counted.types = func() []columnType { return c.columnTypes(k) }
	if types != nil {
		counted.known, counted.asked = types, true
	}
	counted.renamed = k.plan.query == nil || k.plan.query.renamed || c.connector.cfg.ColumnsWithAlias
	counted.binary = k.binary()
	counted.computed = k.plan.computes()
	return counted
}
