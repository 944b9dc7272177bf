package countermysql

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// privateBase is what folds call a base table that is locked, or named, otherwise.
const privateBase = "countermysql_base"

// at is the table for folds into base rows under another name or lock.
func (t *table) at(base string) *table {
	return &table{spec: t.spec, key: t.key, unique: t.unique, counters: t.counters, touch: t.touch,
		slotCol: t.slotCol, slotsWidth: t.slotsWidth, mariaDB: t.mariaDB, elsewhere: base + " AS " + privateBase}
}

// ref is what folds call the base row, and from the table that it is in.
func (t *table) ref() string {
	if t.elsewhere != "" {
		return privateBase
	}
	return quoteIdent(t.spec.name)
}

func (t *table) from() string { return cmp.Or(t.elsewhere, t.base()) }

// alter executes DDL. A new name of a key or a counter, or another key, would leave
// standing what others add to the slots between the rollup and the ALTER: they are kept
// out, and those of the old key have no slots table behind it. What was added before a
// table got a new name, or rows another table, goes with it.
func (c *conn) alter(ctx context.Context, k *call, toks []token) (out outcome, err error) {
	if len(k.plan.scopes) != 1 || !toks[0].is("ALTER") && !toks[0].is("RENAME") {
		return k.forward(ctx, k.text)
	}
	t := k.plan.scopes[0].t
	if out, done, err := c.swap(ctx, k, t, toks); done {
		return out, err
	}
	locked, rekeys := false, rekeysIn(toks)
	if rekeys || t.renamesIn(toks) {
		if locked, err = c.lockOut(ctx, t); err != nil {
			return outcome{}, err
		}
	}
	out, err = k.forward(ctx, k.text)
	if locked {
		if rekeys && err == nil && c.connector.config.CreateSlots {
			c.connector.changes.Add(1)
			_, err = c.do(ctx, "DROP TABLE "+t.slots()) // it is empty, and made anew with the new key
		}
		if _, uerr := c.do(context.WithoutCancel(ctx), "UNLOCK TABLES"); uerr != nil && err == nil {
			err = uerr
		}
		c.locks = unlocked
		if notUnderLock[errorNumber(err)] {
			out, err = k.forward(ctx, k.text)
		}
	}
	if to := newName(toks); err == nil && to != nil {
		c.follow(ctx, t, to)
	}
	if other := c.exchanged(t, toks); err == nil && other != "" {
		c.followRows(ctx, t, other)
	}
	return out, err
}

// notUnderLock are the errors of DDL that needs tables which are not locked,
// those of foreign keys for example.
var notUnderLock = map[uint16]bool{1099: true, 1100: true, 1192: true}

// rekeysIn reports whether ALTER TABLE may give the table another primary key.
func rekeysIn(toks []token) bool {
	return hasWord(toks, "PRIMARY")
}

// renamesIn reports whether ALTER TABLE gives a key column, counter or touch
// column another name.
func (t *table) renamesIn(toks []token) bool {
	for i, tok := range toks {
		rest := toks[i+1:]
		if !tok.is("CHANGE") && (!tok.is("RENAME") || len(rest) == 0 || !rest[0].is("COLUMN")) {
			continue
		}
		for len(rest) > 2 && (rest[0].is("COLUMN") || rest[0].is("IF") || rest[0].is("EXISTS")) {
			rest = rest[1:]
		}
		if len(rest) < 2 || !t.inKey(rest[0].name) && !t.virtual(rest[0].name) {
			continue
		}
		if to := rest[1]; !to.is("TO") || len(rest) < 3 {
			if !strings.EqualFold(to.name, rest[0].name) {
				return true
			}
		} else if !strings.EqualFold(rest[2].name, rest[0].name) {
			return true
		}
	}
	return false
}

// lockOut keeps everybody else from a table and its slots table, which it leaves
// empty, until UNLOCK TABLES; locked is false where that is not allowed.
func (c *conn) lockOut(ctx context.Context, t *table) (locked bool, err error) {
	switch _, err := c.do(ctx, "LOCK TABLES "+t.base()+" WRITE, "+t.slots()+" WRITE, "+t.slots()+" AS "+privateName+" WRITE"); {
	case errorNumber(err) == 0 && err != nil, errorNumber(err) == errLockWait:
		return false, err
	case err != nil: // a missing privilege, say: then it has to do without
		return false, nil
	}
	c.ended() // it commits
	c.locks = lockedOurs
	if err := c.foldLocked(ctx, t); err != nil {
		_, _ = c.do(context.WithoutCancel(ctx), "UNLOCK TABLES") // the first error is the one to report
		c.locks = unlocked
		return false, err
	}
	return true, nil
}

// follow adds what was counted between the rollup and the renaming of a table to
// its base rows, which have no slots table any more.
func (c *conn) follow(ctx context.Context, t *table, to []token) {
	db, name, ok := tableName(to)
	if !ok {
		return
	}
	if _, err := c.read(ctx, "SELECT 1 FROM "+t.base()+" LIMIT 0"); errorNumber(err) != errNoTable {
		return // another table has the name now, and the slots
	}
	if err := c.rollUp(ctx, t.at(quoteIdent(cmp.Or(db, c.session.db))+"."+quoteIdent(name))); err != nil && errorNumber(err) != errNoTable { // the slots table may have been renamed too
		c.connector.once("renamed "+t.String(), "countermysql: slots of a renamed table are left", "table", t.String(), "error", err)
	}
	if c.connector.config.CreateSlots { // what others have planned for the old name, a view of the table perhaps, then fails
		if err := c.dropEmpty(ctx, t); err != nil && errorNumber(err) != errNoTable {
			c.connector.once("renamed "+t.String(), "countermysql: the slots table of a renamed table is left", "table", t.String(), "error", err)
		}
	}
}

// dropEmpty drops the slots table if nothing is in it.
func (c *conn) dropEmpty(ctx context.Context, t *table) (err error) {
	if _, err := c.do(ctx, "LOCK TABLES "+t.slots()+" WRITE"); err != nil {
		return err
	}
	defer func() {
		if _, uerr := c.do(context.WithoutCancel(ctx), "UNLOCK TABLES"); err == nil {
			err = uerr
		}
	}()
	if rows, err := c.read(ctx, "SELECT 1 FROM "+t.slots()+" LIMIT 1"); err != nil || len(rows) > 0 {
		return err
	}
	_, err = c.do(ctx, "DROP TABLE "+t.slots())
	return err
}

// exchanged is the other table of ALTER TABLE … EXCHANGE PARTITION … WITH TABLE …; "" if
// it is something else. (Not all versions of MariaDB can do that under LOCK TABLES.)
func (c *conn) exchanged(t *table, toks []token) (other string) {
	if !slices.ContainsFunc(toks, func(t token) bool { return t.is("EXCHANGE") }) {
		return ""
	}
	s := c.connector.current.Load()
	for i, tok := range toks {
		if !tok.is("TABLE") {
			continue
		}
		name := toks[i+1:]
		if wordAt(name, 0, "IF") {
			name = name[min(2, len(name)):]
		}
		if db, name, ok := tableName(name); ok && s != nil && s.key(cmp.Or(db, c.session.db), name) != s.key(t.spec.db, t.spec.name) {
			other = quoteIdent(cmp.Or(db, c.session.db)) + "." + quoteIdent(name)
		}
	}
	return other
}

// followRows adds what was counted for rows between the rollup and the moment when they
// went to another table. They have no base row any more, nor had other slots that.
func (c *conn) followRows(ctx context.Context, t *table, other string) {
	err := again(ctx, func() error {
		found, err := c.outside(ctx, "SELECT DISTINCT "+t.selectKey(privateName)+t.orphans("TRUE"))
		if err != nil || len(found) == 0 {
			return err
		}
		keys := map[string]key{}
		for _, r := range found {
			keys[key(r).id()] = r
		}
		if err := c.start(ctx); err != nil {
			return err
		}
		_, err = c.takeKeys(ctx, t.at(other), keys)
		return c.finish(ctx, err)
	})
	if err != nil {
		c.connector.once("exchanged "+t.String(), "countermysql: slots of rows that went to another table are left", "table", t.String(), "error", err)
	}
}
