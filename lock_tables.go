package countermysql

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

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
		if c.Locks != session.Unlocked && !c.holdsLocks(ctx, s) {
			c.Locks = session.Unlocked
		}
		return out, err
	}
	c.Locks = session.LockedOthers
	if err := out.close(); err != nil {
		return outcome{}, err
	}
	tables := slices.Clone(k.Plan.LockTables)
	for _, t := range s.All() {
		if t.Unfit == nil && t.Missing == "" && !slices.Contains(tables, t) && c.asks(ctx, t.Base()) == 0 {
			tables = append(tables, t)
		}
	}
	if len(tables) == 0 {
		return out, nil
	}
	if _, err := c.Do(ctx, "UNLOCK TABLES"); err != nil {
		return outcome{}, err
	}
	c.Locks = session.Unlocked
	return c.lockTables(ctx, k, tables)
}

// schema is what is known of the schema: under LOCK TABLES without waiting for what is
// new, as a reading of it may wait for these locks.
func (c *conn) schema(ctx context.Context) (*catalog.Schema, error) {
	if s := c.connector.watcher.Current(); s != nil && c.Locks != session.Unlocked {
		return s, nil
	}
	return c.connector.watcher.Schema(ctx)
}

// asks has the server open a table, and is the number of its error.
func (c *conn) asks(ctx context.Context, table string) uint16 {
	rows, err := c.Queryer.QueryContext(ctx, "SELECT 1 FROM "+table+" LIMIT 0", nil)
	if err == nil {
		err = rows.Close()
	}
	c.Overlook(err)
	return mysqlerr.Number(err)
}

// holdsLocks reports whether LOCK TABLES still holds: then no table can be used by
// a name that was not locked.
func (c *conn) holdsLocks(ctx context.Context, s *catalog.Schema) bool {
	return slices.ContainsFunc(s.All(), func(t *catalog.Table) bool {
		return c.asks(ctx, t.Base()+" AS "+catalog.PrivateName) == mysqlerr.ErrNotLocked
	})
}

// lockTables locks the slots tables too, which keeps everybody's increments out, and
// what they hold is rolled up first, so that until UNLOCK TABLES the base tables say
// all. Where others add to them up to the last moment, the base tables are locked
// once more, for the rest to be rolled up under the lock; under the shared locks of
// FLUSH TABLES nothing can be.
func (c *conn) lockTables(ctx context.Context, k *call, tables []*catalog.Table) (outcome, error) {
	toks := sqltext.Tokenize(k.text, c.Settings.Mode)
	flush := toks[0].Is("FLUSH")
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
		c.Ended() // it commits
		c.Locks = session.LockedOurs
		clean, err := c.settleLocked(ctx, tables, try > 0 && !flush)
		if clean || flush && err == nil && try == session.MaxRetries {
			return out, nil
		}
		if _, uerr := c.Do(context.WithoutCancel(ctx), "UNLOCK TABLES"); uerr == nil {
			c.Locks = session.Unlocked
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
func withSlots(text string, toks []sqltext.Token, tables []*catalog.Table, fold bool) string {
	how := " WRITE"
	end := len(toks) // of the list: MariaDB may be told how long to wait
	if toks[0].Is("FLUSH") {
		end, how = sqltext.ListEnd(toks), ""
	}
	for end > 0 && (toks[end-1].Punct(';') || toks[end-1].Is("NOWAIT")) {
		end--
	}
	if end > 2 && toks[end-2].Is("WAIT") {
		end -= 2
	}
	list, rest := text[:toks[end-1].End], text[toks[end-1].End:]
	for _, t := range tables {
		list += ", " + t.Slots() + how
		if fold {
			list += ", " + t.Slots() + " AS " + catalog.PrivateName + how + ", " + t.Base() + " AS " + catalog.PrivateBase + how
		}
	}
	return list + rest
}

// settleLocked reports whether locked tables have no slots, after folding them
// if that is allowed.
func (c *conn) settleLocked(ctx context.Context, tables []*catalog.Table, fold bool) (bool, error) {
	clean := true
	for _, t := range tables {
		rows, err := c.Read(ctx, "SELECT 1 FROM "+t.Slots()+" LIMIT 1")
		if err != nil {
			return false, err
		}
		if len(rows) == 0 {
			continue
		}
		if clean = clean && fold; fold {
			if err := c.foldLocked(ctx, t.At(t.Base())); err != nil {
				return false, err
			}
		}
	}
	return clean, nil
}

// foldLocked rolls up a table that this session has locked, with its slots
// table. A BEGIN would unlock them.
func (c *conn) foldLocked(ctx context.Context, t *catalog.Table) (err error) {
	if c.Autocommit() {
		if _, err := c.Do(ctx, "SET autocommit = 0"); err != nil {
			return err
		}
		defer func() {
			if _, serr := c.Do(context.WithoutCancel(ctx), "SET autocommit = 1"); err == nil {
				err = serr
			}
		}()
	}
	return c.Finish(ctx, c.FoldTable(ctx, t, false))
}
