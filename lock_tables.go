package countermysql

import (
	"context"
	"slices"
)

// tableLocks is what LOCK TABLES of the session holds.
type tableLocks uint8

const (
	unlocked     tableLocks = iota
	lockedOurs              // counter tables, with their slots tables
	lockedOthers            // other tables only: ours can't be used
)

// locksTables reports whether a statement is LOCK TABLES, or a FLUSH TABLES that
// keeps its tables locked.
func locksTables(toks []token) bool {
	if len(toks) < 2 {
		return false
	}
	tables := func(t token) bool { return t.is("TABLE") || t.is("TABLES") }
	return toks[0].is("LOCK") && tables(toks[1]) || toks[0].is("FLUSH") && listEnd(toks) > 0
}

// listEnd is the token behind the list of FLUSH TABLES … WITH READ LOCK and FOR
// EXPORT; 0 if that is not what it is, or if it names no table.
func listEnd(toks []token) int {
	at := 1
	if toks[at].is("NO_WRITE_TO_BINLOG") || toks[at].is("LOCAL") {
		at++
	}
	if at >= len(toks) || !toks[at].is("TABLE") && !toks[at].is("TABLES") {
		return 0
	}
	for i := at + 2; i+1 < len(toks); i++ {
		if toks[i].is("WITH") && toks[i+1].is("READ") || toks[i].is("FOR") && toks[i+1].is("EXPORT") {
			return i
		}
	}
	return 0
}

// runLock executes LOCK TABLES: first as it is, because a list that makes no sense
// unlocks and commits nothing, and because the server locks more than is named: the
// tables of foreign keys and triggers. Only it knows which counter tables can be
// used under the locks.
func (c *conn) runLock(ctx context.Context, k *call) (outcome, error) {
	s, err := c.schema(ctx)
	if err != nil {
		return outcome{}, err
	}
	out, err := k.forward(ctx, k.text)
	if err != nil {
		if c.locks != unlocked && !c.holdsLocks(ctx, s) {
			c.locks = unlocked
		}
		return out, err
	}
	c.locks = lockedOthers
	if err := out.close(); err != nil {
		return outcome{}, err
	}
	tables := slices.Clone(k.plan.lockTables)
	for _, t := range s.all() {
		hidden := c.temporary.hidden[t.String()] // by a temporary table, which needs no lock
		if t.unfit == nil && t.missing == "" && !hidden && !slices.Contains(tables, t) && c.asks(ctx, t.base()) == 0 {
			tables = append(tables, t)
		}
	}
	if len(tables) == 0 {
		return out, nil
	}
	if _, err := c.do(ctx, "UNLOCK TABLES"); err != nil {
		return outcome{}, err
	}
	c.locks = unlocked
	return c.lockTables(ctx, k, tables)
}

// schema is what is known of the schema: under LOCK TABLES without waiting for what is
// new, as a reading of it may wait for these locks.
func (c *conn) schema(ctx context.Context) (*schema, error) {
	if s := c.connector.current.Load(); s != nil && c.locks != unlocked {
		return s, nil
	}
	return c.connector.schema(ctx)
}

// asks has the server open a table, and is the number of its error.
func (c *conn) asks(ctx context.Context, table string) uint16 {
	rows, err := c.queryer.QueryContext(ctx, "SELECT 1 FROM "+table+" LIMIT 0", nil)
	if err == nil {
		err = rows.Close()
	}
	c.overlook(err)
	return errorNumber(err)
}

// holdsLocks reports whether LOCK TABLES still holds: then no table can be used by
// a name that was not locked.
func (c *conn) holdsLocks(ctx context.Context, s *schema) bool {
	return slices.ContainsFunc(s.all(), func(t *table) bool { return c.asks(ctx, t.base()+" AS "+privateName) == errNotLocked })
}

// lockTables locks the slots tables too, which keeps everybody's increments out, and
// what they hold is rolled up first, so that until UNLOCK TABLES the base tables say
// all. Where others add to them up to the last moment, the base tables are locked
// once more, for the rest to be rolled up under the lock; under the shared locks of
// FLUSH TABLES nothing can be.
func (c *conn) lockTables(ctx context.Context, k *call, tables []*table) (outcome, error) {
	toks := tokenize(k.text, c.session.mode)
	flush := toks[0].is("FLUSH")
	text := withSlots(k.text, toks, tables, false)
	for try := 0; ; try++ {
		for _, t := range tables {
			if err := c.rollUpCommitted(ctx, t); err != nil {
				return outcome{}, err
			}
		}
		out, err := k.forward(ctx, text)
		if err != nil {
			return out, err
		}
		if err := out.close(); err != nil {
			return outcome{}, err
		}
		c.ended() // it commits
		c.locks = lockedOurs
		clean, err := c.settleLocked(ctx, tables, try > 0 && !flush)
		if clean || flush && err == nil && try == maxRetries {
			return out, nil
		}
		if _, uerr := c.do(context.WithoutCancel(ctx), "UNLOCK TABLES"); uerr == nil {
			c.locks = unlocked
		} else if err == nil {
			err = uerr
		}
		if err != nil {
			return outcome{}, err
		}
		text = withSlots(k.text, toks, tables, !flush)
	}
}

// withSlots adds slots tables to the list of LOCK TABLES, and both tables by the
// names that folds use, if they are to fold.
func withSlots(text string, toks []token, tables []*table, fold bool) string {
	how := " WRITE"
	end := len(toks) // of the list: MariaDB may be told how long to wait
	if toks[0].is("FLUSH") {
		end, how = listEnd(toks), ""
	}
	for end > 0 && (toks[end-1].punct(';') || toks[end-1].is("NOWAIT")) {
		end--
	}
	if end > 2 && toks[end-2].is("WAIT") {
		end -= 2
	}
	list, rest := text[:toks[end-1].end], text[toks[end-1].end:]
	for _, t := range tables {
		list += ", " + t.slots() + how
		if fold {
			list += ", " + t.slots() + " AS " + privateName + how + ", " + t.base() + " AS " + privateBase + how
		}
	}
	return list + rest
}

// settleLocked reports whether locked tables have no slots, after folding them
// if that is allowed.
func (c *conn) settleLocked(ctx context.Context, tables []*table, fold bool) (bool, error) {
	clean := true
	for _, t := range tables {
		rows, err := c.read(ctx, "SELECT 1 FROM "+t.slots()+" LIMIT 1")
		if err != nil {
			return false, err
		}
		if len(rows) == 0 {
			continue
		}
		if clean = clean && fold; fold {
			if err := c.foldLocked(ctx, t.at(t.base())); err != nil {
				return false, err
			}
		}
	}
	return clean, nil
}

// foldLocked rolls up a table that this session has locked, with its slots
// table. A BEGIN would unlock them.
func (c *conn) foldLocked(ctx context.Context, t *table) (err error) {
	if c.autocommit() {
		if _, err := c.do(ctx, "SET autocommit = 0"); err != nil {
			return err
		}
		defer func() {
			if _, serr := c.do(context.WithoutCancel(ctx), "SET autocommit = 1"); err == nil {
				err = serr
			}
		}()
	}
	return c.finish(ctx, c.takeAll(ctx, t, false))
}
