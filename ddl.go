package countermysql

import (
	"context"
	"slices"
	"strings"
)

// ddl plans a statement that changes the schema.
func (a *analysis) ddl(tables []*table, via []dependent) *plan {
	ofTable := hasWord(a.toks[:min(4, len(a.toks))], "TABLE", "TABLES")
	named := a.namedTables(tables)
	copies := wordAt(a.toks, 0, "CREATE") && ofTable && a.fromQuery()
	if copies {
		named = readThrough(named, via)
	}
	named = slices.DeleteFunc(named, func(t *table) bool { return t.unfit != nil || t.missing != "" })
	switch {
	case len(named) == 0:
		return &plan{}
	case wordAt(a.toks, 0, "DROP") && ofTable, wordAt(a.toks, 0, "TRUNCATE"):
		return &plan{dropped: named}
	case slices.ContainsFunc(named, func(t *table) bool { return t.unfolded }): // what mends it, say
	case wordAt(a.toks, 0, "ALTER") && ofTable, wordAt(a.toks, 0, "RENAME"), wordAt(a.toks, 0, "CREATE") && wordAt(a.toks, 1, "OR") && ofTable && !copies:
		return &plan{class: exact, reason: "the table may change its key or its name", scopes: allOf(named)}
	case copies:
		return &plan{class: exact, reason: "it makes a table from a query", scopes: allOf(named)}
	}
	return &plan{}
}

// namedTables keeps the tables whose names, and not only those of tables in
// other databases, stand outside strings.
func (a *analysis) namedTables(tables []*table) []*table {
	return slices.DeleteFunc(slices.Clone(tables), func(t *table) bool {
		for i, tok := range a.toks {
			if tok.kind == tokVersion || tok.ident() && a.schema.key(a.databaseOf(i), tok.name) == a.schema.key(t.spec.db, t.spec.name) {
				return false
			}
		}
		return true
	})
}

// readThrough adds the tables that are read through views.
func readThrough(tables []*table, via []dependent) []*table {
	all := slices.Clone(tables)
	for _, d := range via {
		if d.reads {
			all = append(all, d.tables...)
		}
	}
	sortTables(all)
	return slices.Compact(all)
}

// fromQuery reports whether CREATE TABLE fills the table: from SELECT, or from TABLE t.
func (a *analysis) fromQuery() bool {
	return hasWord(a.toks, "SELECT") || twice(a.toks, "TABLE")
}

// runDDL executes a statement that ends a transaction: what it needs of the
// slots goes with it.
func (c *conn) runDDL(ctx context.Context, k *call) (outcome, error) {
	p := k.plan
	if p.kind == kindDDL || p.kind == kindImplicit {
		defer c.connector.ddl.Add(1)
	}
	toks := tokenize(k.text, c.session.mode)
	if p.kind == kindDDL && c.connector.current.Load().changedBy(toks, k.text) {
		// learned before the caller hears of the change; others go on meanwhile
		defer func() {
			if _, err := c.connector.learn(context.WithoutCancel(ctx)); err != nil {
				c.connector.changes.Add(1)
			}
		}()
	}
	if locksTables(toks) {
		return c.runLock(ctx, k)
	}
	if c.locks != unlocked {
		out, err := k.forward(ctx, k.text)
		if err == nil && p.kind == kindBegin && !toks[0].is("XA") {
			c.locks = unlocked
		}
		return out, err
	}
	if (p.scopes != nil || p.dropped != nil) && c.inTransaction() {
		if err := k.parses(ctx); err != nil { // or it would be committed for nothing
			return outcome{}, c.noted(err)
		}
	}
	if p.dropped != nil {
		return c.drop(ctx, k)
	}
	for _, s := range p.scopes {
		if err := c.rollUpCommitted(ctx, s.t); err != nil {
			return outcome{}, err
		}
	}
	out, err := c.alter(ctx, k, toks)
	if err == nil && toks[0].is("DROP") {
		err = c.unhide(ctx, toks) // a temporary table is dropped first
	} else if err == nil {
		err = c.renamed(ctx, toks)
	}
	return out, err
}

// rollUpCommitted commits the transaction that the statement is about to commit
// anyway, so that its increments are seen, and rolls up a table.
func (c *conn) rollUpCommitted(ctx context.Context, t *table) error {
	if c.inTransaction() {
		if _, err := c.do(ctx, commit); err != nil {
			return err
		}
	}
	c.ended()
	return c.rollUp(ctx, t)
}

// truncates tells a TRUNCATE from a DROP TABLE.
func (k *call) truncates() bool {
	return strings.EqualFold(tokenize(k.text, k.conn.session.mode)[0].name, "TRUNCATE")
}

// endSQL ends the slots as TRUNCATE or DROP TABLE has ended the base rows.
func (t *table) endSQL(truncate bool) string {
	if truncate {
		return "TRUNCATE TABLE " + t.slots()
	}
	return "DROP TABLE IF EXISTS " + t.slots()
}

// drop executes DROP TABLE and TRUNCATE: the slots go too. Nobody gets in between
// to fill an emptied table, whose increments would go with the slots.
func (c *conn) drop(ctx context.Context, k *call) (_ outcome, err error) {
	truncate := k.truncates()
	if truncate && len(k.plan.dropped) == 1 {
		t := k.plan.dropped[0]
		switch _, lerr := c.do(ctx, "LOCK TABLES "+t.base()+" WRITE, "+t.slots()+" WRITE"); {
		case lerr == nil:
			defer func() {
				if _, uerr := c.do(context.WithoutCancel(ctx), "UNLOCK TABLES"); err == nil {
					err = uerr
				}
			}()
		case errorNumber(lerr) == 0, errorNumber(lerr) == errLockWait:
			return outcome{}, lerr
		} // a missing privilege, say: then it has to do without
	}
	out, err := k.forward(ctx, k.text)
	missing := !truncate && errorNumber(err) == errUnknownTable // MariaDB has dropped the others
	if err != nil && !missing {
		return out, err
	}
	if err := out.close(); err != nil {
		return outcome{}, err
	}
	for _, t := range k.plan.dropped {
		if missing {
			if _, rerr := c.read(ctx, "SELECT 1 FROM "+t.base()+" LIMIT 0"); errorNumber(rerr) != errNoTable {
				continue
			}
		}
		if _, derr := c.do(ctx, t.endSQL(truncate)); derr != nil {
			return out, derr
		}
	}
	if truncate || err != nil {
		return out, err
	}
	return out, c.unhide(ctx, tokenize(k.text, c.session.mode))
}
