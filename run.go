package countermysql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
)

// call is one execution of a user's statement.
type call struct {
	conn *conn
	planUse
	text string
	args []driver.NamedValue

	merged []driver.NamedValue // with the literals that are parameters of the plan

	stmt *stmt // nil: sent as text
	rows bool  // asked through Query
}

func (k *call) binder() binder {
	l := k.conn.literals
	l.interpolated = l.interpolated && k.stmt == nil
	if k.lits != nil && k.merged == nil {
		k.merged = k.lits.merge(k.args)
	}
	if k.merged != nil {
		return binder{l, k.merged}
	}
	return binder{l, k.args}
}

// own gives a text made from the plan's the literals of the user's.
func (k *call) own(text string) string {
	if k.lits == nil {
		return text
	}
	return k.lits.fill(text, k.conn.session.mode)
}

// forward sends the user's statement, or what stands in its place, the way the
// user sent it: as text, with arguments, or prepared.
func (k *call) forward(ctx context.Context, text string) (outcome, error) {
	out, err := k.try(ctx, text)
	if errors.Is(err, driver.ErrSkip) {
		out, err = k.prepared(ctx, text)
	}
	return out, k.conn.noted(err)
}

func (k *call) try(ctx context.Context, text string) (out outcome, err error) {
	switch {
	case k.stmt != nil:
		physical, err := k.stmt.physical(ctx, text)
		if err != nil {
			return out, err
		}
		return run(ctx, physical, k.args, k.rows)
	case k.rows:
		out.rows, err = k.conn.queryer.QueryContext(ctx, text, k.args)
	default:
		out.res, err = k.conn.execer.ExecContext(ctx, text, k.args)
	}
	return out, err
}

func run(ctx context.Context, s driver.Stmt, args []driver.NamedValue, rows bool) (out outcome, err error) {
	if rows {
		out.rows, err = s.(driver.StmtQueryContext).QueryContext(ctx, args)
	} else {
		out.res, err = s.(driver.StmtExecContext).ExecContext(ctx, args)
	}
	return out, err
}

// prepared does what database/sql does after ErrSkip, so that nothing that
// went before is done a second time.
func (k *call) prepared(ctx context.Context, text string) (outcome, error) {
	s, err := k.conn.raw.(driver.ConnPrepareContext).PrepareContext(ctx, text)
	if err != nil {
		return outcome{}, err
	}
	if n := s.NumInput(); n >= 0 && n != len(k.args) {
		s.Close()
		return outcome{}, fmt.Errorf("sql: expected %d arguments, got %d", n, len(k.args))
	}
	out, err := run(ctx, s, k.args, k.rows)
	if err != nil || !k.rows {
		s.Close()
		return out, err
	}
	out.rows = &countedRows{physicalRows: out.rows.(physicalRows), finish: closing(s)}
	return out, nil
}

// run executes a statement that is more than simple.
func (c *conn) run(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	if p.increment == nil {
		if err := c.begin(ctx); err != nil {
			return outcome{}, err
		}
	}
	if p.split != nil && c.connector.cfg.MultiStatements && k.stmt == nil && (len(k.args) == 0 || c.connector.cfg.InterpolateParams) {
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
	p := k.plan
	switch p.kind {
	case kindBegin, kindCommit, kindDDL, kindImplicit, kindLock:
		return c.runCommit(ctx, k)
	case kindRollback:
		c.ended()
		return k.forward(ctx, k.text)
	case kindSavepoint, kindRollbackTo, kindRelease:
		out, err := k.forward(ctx, k.text)
		if err != nil || !c.inTransaction() {
			return out, err
		}
		switch x := c.transaction(); p.kind {
		case kindSavepoint:
			x.save(p.arg)
		case kindRollbackTo:
			x.rollbackTo(p.arg)
		default:
			x.release(p.arg, true)
		}
		return out, nil
	case kindTemporary:
		return c.runTemporary(ctx, k)
	case kindAutocommit:
		c.dirty, c.changed = true, true
		if p.arg == "on" && !c.autocommit() {
			return c.runCommit(ctx, k)
		}
		if p.arg != "off" {
			return c.runAnything(ctx, k)
		}
		return k.forward(ctx, k.text)
	case kindSetTransaction:
		out, err := k.forward(ctx, k.text)
		switch {
		case err != nil:
		case p.arg != "":
			c.next = p.arg
		case c.next == "": // READ ONLY: nobody else may run what comes next
			c.next = c.session.isolation
		}
		return out, err
	case kindUnlock:
		out, err := k.forward(ctx, k.text)
		c.locked = c.locked && err != nil
		return out, err
	case kindSet:
		c.dirty, c.changed = true, true
	case kindCall, kindExecute:
		return c.runAnything(ctx, k)
	}
	return c.runData(ctx, k)
}

// runCommit executes a statement that commits what is open.
func (c *conn) runCommit(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	if err := c.send(ctx); err != nil {
		c.ended()
		if _, rerr := c.do(context.Background(), "ROLLBACK"); rerr != nil {
			c.connector.log.Warn("countermysql: rolling back after a failed commit", "error", rerr)
		}
		return outcome{}, err
	}
	next := c.next
	out, err := c.runDDL(ctx, k)
	if err == nil || !c.inTransaction() {
		c.ended()
		if p.kind == kindBegin {
			c.next = next
		}
	}
	return out, err
}

// runAnything executes CALL, EXECUTE and the like, which may read and write
// counters and end the transaction.
func (c *conn) runAnything(ctx context.Context, k *call) (outcome, error) {
	c.dirty, c.changed = true, true
	if err := c.applyAll(ctx); err != nil {
		return outcome{}, err
	}
	for _, s := range k.plan.scopes {
		if err := c.rollUp(ctx, s.t); err != nil {
			return outcome{}, err
		}
	}
	out, err := k.forward(ctx, k.text)
	c.connector.stale.Store(c.connector.stale.Load() || k.plan.kind == kindExecute)
	if !c.inTransaction() {
		c.ended()
		return out, err
	}
	for _, w := range k.plan.writes {
		c.transaction().writtenTo(w.t).any = true
	}
	return out, err
}

// runTemporary executes CREATE and DROP TEMPORARY TABLE. While a temporary table
// has a counter table's name, that name is none of our business in this session.
func (c *conn) runTemporary(ctx context.Context, k *call) (outcome, error) {
	for _, s := range k.plan.scopes { // of CREATE TEMPORARY TABLE … SELECT
		if err := c.rollUp(ctx, s.t); err != nil {
			return outcome{}, err
		}
	}
	out, err := k.forward(ctx, k.text)
	if err != nil {
		return out, err
	}
	s, err := c.connector.schema(ctx)
	if err != nil {
		return out, err
	}
	toks := tokenize(k.text, c.session.mode)
	at := slices.IndexFunc(toks, func(t token) bool { return t.is("TABLE") })
	if toks[0].is("DROP") {
		for _, t := range toks[at+1:] {
			if hidden := s.lookup("", t.name, c.session.db); hidden != nil && t.ident() {
				c.hide(hidden, false)
			}
		}
		return out, nil
	}
	if toks = toks[at+1:]; len(toks) > 3 && toks[0].is("IF") {
		toks = toks[3:]
	}
	db, name := "", toks[0].name
	if len(toks) > 2 && toks[1].punct('.') {
		db, name = name, toks[2].name
	}
	if t := s.lookup(db, name, c.session.db); t != nil {
		c.hide(t, true)
	}
	return out, nil
}

// applyAll takes every pending increment the exact way, before a statement that
// may end the transaction or not.
func (c *conn) applyAll(ctx context.Context) error {
	if c.tx == nil || !c.inTransaction() {
		return nil
	}
	for _, t := range c.tx.tables() {
		if err := c.apply(ctx, t, nil); err != nil {
			return err
		}
	}
	return nil
}

// runData executes a query or a data change.
func (c *conn) runData(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	if c.locked || slices.ContainsFunc(k.args, func(v driver.NamedValue) bool { return v.Name != "" }) {
		return k.forward(ctx, k.text) // everything was rolled up, and nobody else can write; named arguments are refused
	}
	exactly := p.class == exact
	if p.increment != nil {
		out, how, err := c.increment(ctx, k)
		if err != nil || how == done {
			return out, err
		}
		exactly = exactly || how == takeExact
		if err := c.begin(ctx); err != nil {
			return outcome{}, err
		}
	} else if !exactly && len(p.touches) > 0 {
		for _, t := range p.touches {
			if _, ok := t.sql(k.binder()); !ok {
				exactly = true
			}
		}
	}
	if p.cleaning != nil {
		if err := c.clean(ctx, k); err != nil {
			return outcome{}, err
		}
	}
	if exactly {
		c.connector.stats.exactly(cmp.Or(p.reason, "an argument, the row's state or the transaction asks for it"))
		return c.runExact(ctx, k)
	}
	text, err := c.rewritten(ctx, k)
	if err != nil {
		return outcome{}, err
	}
	if p.query == nil {
		c.connector.stats.plain(p)
	}
	c.fixed = c.fixed || p.fixes
	out, err := k.forward(ctx, text)
	if err != nil && p.query != nil && notResolved[errorNumber(err)] {
		// perhaps it is the view that the server does not like here: then the base table has to do
		c.connector.stats.exactly("the server does not accept the view")
		return c.runExact(ctx, k)
	}
	if err != nil {
		return out, err
	}
	c.noteWrites(p.writes, k.binder(), out.affected())
	if (p.query != nil || text != k.text) && k.rows {
		out.rows = c.countedRows(out.rows, k)
	}
	return out, nil
}

// rewritten is the text to send for a statement: with views where it reads counters.
func (c *conn) rewritten(ctx context.Context, k *call) (string, error) {
	p := k.plan
	if p.query == nil {
		if p.rowCount && c.lastRows.known {
			return withRowCount(k.text, c.session.mode, c.lastRows.rows), nil
		}
		return k.text, nil
	}
	c.connector.stats.sums.Add(1)
	if p.locks == "" && (!c.inTransaction() || c.tx == nil) {
		return k.own(p.query.sql), nil
	}
	sights := map[*table]sight{}
	plain := true
	for _, t := range p.reads {
		s, err := c.sightOf(ctx, t, k)
		if err != nil {
			return "", err
		}
		plain = plain && s.locks == "" && s.own == nil && s.pending == nil
		sights[t] = s
	}
	if plain {
		return k.own(p.query.sql), nil
	}
	return k.own(p.query.render(func(t *table) sight { return sights[t] })), nil
}

// countedRows gives the rows of a rewritten query the column types of the original.
func (c *conn) countedRows(rows driver.Rows, k *call) driver.Rows {
	counted, ok := rows.(*countedRows)
	if !ok {
		counted = &countedRows{physicalRows: rows.(physicalRows)}
	}
	if db := c.connector.look.Load(); db != nil && c.session.db == c.initial.db {
		p, mode := k.plan, c.session.mode
		counted.types = func() []columnType { return p.columnTypes(db, k, mode) }
	}
	counted.renamed = k.plan.query == nil || k.plan.query.inList || c.connector.cfg.ColumnsWithAlias
	counted.unsigned = slices.ContainsFunc(k.plan.reads, func(t *table) bool {
		return slices.ContainsFunc(t.counters, func(c *column) bool { return c.unsigned() && c.dataType != "bigint" })
	})
	return counted
}

// runExact rolls up the keys concerned and runs the statement as it is, in one
// transaction: the open one, or one of its own.
func (c *conn) runExact(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	if c.inTransaction() {
		if p.guarded != "" && c.transaction().isolation != repeatableRead && c.transaction().isolation != serializable && len(c.tx.pending) == 0 && !k.rows {
			if out, err := k.forward(ctx, k.own(p.guarded)); err != nil || out.affected() > 0 {
				c.noteWrites(p.writes, k.binder(), 1)
				return out, err
			}
		}
		c.transaction().rolledUp = nil
		if err := c.take(ctx, p.scopes, k.binder()); err != nil {
			return outcome{}, err
		}
		out, err := k.forward(ctx, k.text)
		if err == nil {
			c.noteWrites(p.writes, k.binder(), out.affected())
			c.transaction().noteVain(out.affected() == 0 || p.writes == nil)
		}
		return out, err
	}
	if p.guarded != "" && !k.rows {
		if out, err := k.forward(ctx, k.own(p.guarded)); err != nil || out.affected() > 0 {
			return out, err
		}
	}
	return c.runAlone(ctx, k)
}

// runAlone is the exact way outside a transaction.
func (c *conn) runAlone(ctx context.Context, k *call) (outcome, error) {
	if _, err := c.do(ctx, "BEGIN"); err != nil {
		return outcome{}, err
	}
	finish := func(err error) error {
		c.ended()
		if err != nil || c.lost {
			_, rerr := c.do(context.WithoutCancel(ctx), "ROLLBACK")
			return errors.Join(err, rerr)
		}
		_, err = c.do(ctx, "COMMIT")
		return err
	}
	out, err := outcome{}, c.take(ctx, k.plan.scopes, k.binder())
	if err == nil {
		out, err = k.forward(ctx, k.text)
	}
	if err != nil {
		_ = finish(err)
		return outcome{}, err
	}
	if out.rows == nil {
		err := finish(nil)
		c.lastRows = rowCount{out.affected(), true}
		return out, err
	}
	rows, ok := out.rows.(*countedRows)
	if !ok {
		rows = &countedRows{physicalRows: out.rows.(physicalRows)}
	}
	first := rows.finish
	rows.finish = func(err error) error {
		if first != nil {
			err = errors.Join(err, first(err))
		}
		return finish(err)
	}
	return outcome{rows: rows}, nil
}

// noteWrites remembers which base rows the transaction has written.
func (c *conn) noteWrites(writes []write, b binder, affected int64) {
	if len(writes) == 0 || affected == 0 || !c.inTransaction() {
		return
	}
	for _, w := range writes {
		seen := c.transaction().writtenTo(w.t)
		seen.thaw()
		if w.pins == nil || w.rekeys || affected < int64(len(w.pins)) && !w.moves {
			seen.any = true
			continue
		}
		for _, p := range w.pins {
			base, ok := p.bind(w.t.spec.name, b)
			if !ok || p.momentary() {
				seen.any = true
				break
			}
			seen.mark(writtenRow{base: base, slots: w.t.slotsOf(p, b), matched: w.updates && c.connector.cfg.ClientFoundRows})
		}
	}
}

// slotsOf selects the slots of a pinned row.
func (t *table) slotsOf(p pin, b binder) string {
	if len(p.cols) == 0 || slices.Equal(p.cols, t.key) {
		where, _ := p.bind(privateName, b)
		return where
	}
	where, _ := p.bind(t.spec.name, b)
	return "EXISTS (SELECT 1 FROM " + t.base() + " WHERE " + where + " AND " + t.sameKey(quoteIdent(t.spec.name), privateName) + ")"
}
