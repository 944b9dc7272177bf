package countermysql

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
)

// runLock executes LOCK TABLES, of other tables than ours. A list that makes no sense
// unlocks and commits nothing.
func (c *conn) runLock(ctx context.Context, k *call) (outcome, error) {
	if ours := k.Plan.LockTables; len(ours) > 0 {
		return outcome{}, notUnderLocks(ours[0], "LOCK TABLES")
	}
	s, err := c.schema(ctx)
	if err != nil {
		return outcome{}, err
	}
	out, err := k.forward(ctx, k.text)
	c.Locks = err == nil || c.Locks && c.holdsLocks(ctx, s)
	return out, err
}

func notUnderLocks(t *catalog.Table, what string) error {
	return &RefusedError{Table: t.String(), What: what, Reason: "the rows of its slots table would have to be added up beforehand, and nothing can be under the locks",
		Remedy: "lock its rows by SELECT … FOR UPDATE in a transaction, or leave first (countermysql drop)"}
}

// underLocks refuses a statement on a counter table that LOCK TABLES of another has locked
// along with it, as the server does by foreign keys and triggers. One that is not locked the
// server refuses itself.
func (c *conn) underLocks(ctx context.Context, p *plan.Plan) error {
	tables := slices.Concat(p.Tables(), p.Dropped)
	if p.Increment != nil {
		tables = append(tables, p.Increment.Table)
	}
	for _, w := range p.Writes {
		tables = append(tables, w.Table)
	}
	for _, t := range tables {
		if c.asks(ctx, t.Base()) == 0 {
			return notUnderLocks(t, "a statement under LOCK TABLES")
		}
	}
	return nil
}

// schema is what is known of the schema: under LOCK TABLES without waiting for what is
// new, as a reading of it may wait for these locks.
func (c *conn) schema(ctx context.Context) (*catalog.Schema, error) {
	if s := c.connector.watcher.Current(); s != nil && c.Locks {
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
