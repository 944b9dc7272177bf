package countermysql

import (
	"context"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// runDDL executes a statement that ends a transaction: what it needs of the
// slots goes with it.
func (c *conn) runDDL(ctx context.Context, k *call) (outcome, error) {
	p := k.Plan
	if p.Kind == sqltext.EffectDDL || p.Kind == sqltext.EffectImplicit {
		defer c.connector.watcher.NoteDDL()
	}
	toks := sqltext.Tokenize(k.text, c.Settings.Mode)
	switch tables, changed := c.connector.watcher.Current().ChangedBy(toks, k.text); {
	case p.Kind != sqltext.EffectDDL || !changed:
	case p.Dropped != nil && !k.truncates(): // nobody asks for what is gone
		defer c.connector.watcher.NoteChange(tables...)
	default: // learned before the caller hears of the change; others go on meanwhile
		defer func() { _ = c.connector.watcher.RefreshOf(context.WithoutCancel(ctx), tables) }() // with an error the next statement tries
	}
	to := c.renamesTemporary(toks)
	if to != nil {
		if err := c.mayHide(ctx, to); err != nil {
			return outcome{}, err
		}
	}
	if sqltext.LocksTables(toks) {
		return c.runLock(ctx, k)
	}
	for _, s := range p.Scopes {
		if err := c.mayLeave(s.Table, toks); err != nil {
			return outcome{}, err
		}
	}
	if c.Locks {
		out, err := k.forward(ctx, k.text)
		if err == nil && p.Kind == sqltext.EffectBegin && !toks[0].Is("XA") {
			c.Locks = false
		}
		return out, err
	}
	if (p.Scopes != nil || p.Dropped != nil) && c.InTransaction() {
		if err := k.parses(ctx); err != nil { // or it would be committed for nothing
			return outcome{}, c.noted(err)
		}
	}
	if p.Dropped != nil {
		return c.drop(ctx, k)
	}
	for _, s := range p.Scopes {
		if err := c.rollUpCommitted(ctx, s.Table); err != nil {
			return outcome{}, err
		}
	}
	out, err := c.alter(ctx, k, toks)
	if err == nil {
		c.noteTemporary(to)
	}
	return out, err
}

// rollUpCommitted commits the transaction that the statement is about to commit
// anyway, so that its increments are seen, and rolls up a table.
func (c *conn) rollUpCommitted(ctx context.Context, t *catalog.Table) error {
	if c.InTransaction() {
		if _, err := c.Do(ctx, session.CommitOnly); err != nil {
			return err
		}
	}
	c.Ended()
	return c.FoldTableAlone(ctx, t)
}

// truncates tells a TRUNCATE from a DROP TABLE.
func (k *call) truncates() bool {
	return strings.EqualFold(sqltext.Tokenize(k.text, k.conn.Settings.Mode)[0].Name, "TRUNCATE")
}

// drop executes DROP TABLE and TRUNCATE: the slots go too. Nobody gets in between
// to fill an emptied table, whose increments would go with the slots.
func (c *conn) drop(ctx context.Context, k *call) (_ outcome, err error) {
	truncate := k.truncates()
	if truncate && len(k.Plan.Dropped) == 1 {
		t := k.Plan.Dropped[0]
		switch _, lerr := c.Do(ctx, "LOCK TABLES "+t.Base()+" WRITE, "+t.Slots()+" WRITE"); {
		case lerr == nil:
			defer func() {
				if _, uerr := c.Do(context.WithoutCancel(ctx), "UNLOCK TABLES"); err == nil {
					err = uerr
				}
			}()
		case mysqlerr.Number(lerr) == 0, mysqlerr.Number(lerr) == mysqlerr.ErrLockWait:
			return outcome{}, lerr
		} // a missing privilege, say: then it has to do without
	}
	out, err := k.forward(ctx, k.text)
	missing := !truncate && mysqlerr.Number(err) == mysqlerr.ErrUnknownTable // MariaDB has dropped the others
	if err != nil && !missing {
		return out, err
	}
	if err := out.close(); err != nil {
		return outcome{}, err
	}
	for _, t := range k.Plan.Dropped {
		if missing {
			if _, rerr := c.Read(ctx, "SELECT 1 FROM "+t.Base()+" LIMIT 0"); mysqlerr.Number(rerr) != mysqlerr.ErrNoTable {
				continue
			}
		}
		if _, derr := c.Do(ctx, t.EndSQL(truncate)); derr != nil {
			return out, derr
		}
	}
	return out, err
}
