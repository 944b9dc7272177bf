package countermysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// InitOptions are for Init. Nil is the same as the zero value.
type InitOptions struct {
	// DryRun has Init return the statements and run none.
	DryRun bool

	// ForeignKeys are the tables, "post" or "db.post", whose slots tables get a
	// foreign key with ON DELETE CASCADE: no slots stay behind when others
	// delete rows. The server then refuses TRUNCATE and DROP of the base table,
	// another type of its key, and changes of keys by other clients.
	ForeignKeys []string
}

// Init makes the slots tables that are missing, adds the columns of new
// counters, gives keys their tables' types, widens columns whose base column has
// more digits now, and opens slots tables that Drop has closed; it returns the
// statements for it, in order. It may be repeated: what is there already needs no
// statement. A slots table that holds increments is never dropped: one whose table
// has another key has to be rolled up first. Nor is a table of the application's
// that has the slots table's name.
func Init(ctx context.Context, db *sql.DB, options *InitOptions) (statements []string, err error) {
	if options == nil {
		options = &InitOptions{}
	}
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	s, err := c.learn(ctx)
	if err != nil {
		return nil, err
	}
	keyed, err := s.named(options.ForeignKeys, c.cfg.DBName)
	if err != nil {
		return nil, err
	}
	if len(options.ForeignKeys) == 0 {
		keyed = nil
	}
	i := initialization{c: c, dry: options.DryRun}
	for _, t := range s.all() {
		if err := i.fit(ctx, t); err != nil {
			return i.statements, err
		}
	}
	i.errs = append(i.errs, s.complete())
	for _, t := range keyed {
		if err := i.tie(ctx, t); err != nil {
			return i.statements, err
		}
	}
	if !i.dry {
		if _, err := c.learn(ctx); err != nil {
			i.errs = append(i.errs, err)
		}
	}
	return i.statements, errors.Join(i.errs...)
}

// initialization is one Init under way. A table that fails leaves the others to go on.
type initialization struct {
	c          *Connector
	dry        bool
	statements []string
	errs       []error
}

func (i *initialization) run(ctx context.Context, t *table, stmts ...string) {
	for _, stmt := range stmts {
		i.statements = append(i.statements, stmt)
		if i.dry {
			continue
		}
		if _, err := i.c.look.Load().ExecContext(ctx, stmt); err != nil {
			i.failed(t, err)
			return
		}
	}
}

func (i *initialization) failed(t *table, err error) {
	i.errs = append(i.errs, fmt.Errorf("countermysql: the slots table of %s: %w", t, err))
}

// fit makes the slots table of a table, or changes it so that it fits.
func (i *initialization) fit(ctx context.Context, t *table) error {
	switch {
	case t.unfit != nil:
		i.errs = append(i.errs, &UnfitError{t.String(), t.unfit})
	case t.missing == "":
	case t.taken || t.unseen:
		i.errs = append(i.errs, t.slotsError())
		return nil
	default:
		if steps := t.missingSteps(); len(steps) > 1 {
			rows, err := i.c.query(ctx, "SELECT 1 FROM "+t.slots()+" LIMIT 1")
			if err != nil {
				return err
			}
			if len(rows) > 0 {
				i.errs = append(i.errs, fmt.Errorf("countermysql: slots table %s no longer fits %s and holds increments; add them to the base rows and run:\n%s", t.spec.slotsTable, t, t.missing))
				return nil
			}
		}
		i.statements = append(i.statements, t.missingSteps()...)
		if !i.dry {
			if err := makeSlots(ctx, i.c.look.Load(), t); err != nil {
				i.failed(t, err)
			}
		}
	}
	if t.narrow != "" {
		i.run(ctx, t, t.narrow)
	}
	if t.closed {
		i.run(ctx, t, "ALTER TABLE "+t.slots()+" COMMENT = ''")
	}
	return nil
}

// tie gives a slots table its foreign key, if it has none.
func (i *initialization) tie(ctx context.Context, t *table) error {
	if len(t.key) == 0 || t.unfit != nil {
		return nil
	}
	rows, err := i.c.query(ctx, t.tiedSQL())
	if err == nil && len(rows) == 0 {
		i.run(ctx, t, t.foreignKeySQL()...)
	}
	return err
}

// foreignKeySQL ties the slots to the base rows; orphans would be refused.
func (t *table) foreignKeySQL() []string {
	return []string{
		"DELETE " + privateName + " FROM " + t.slots() + " AS " + privateName + " LEFT JOIN " + t.base() + " AS base ON " + t.sameKey("base", privateName) +
			" WHERE base." + quoteIdent(t.key[0].name) + " IS NULL",
		t.tieSQL(t.base()),
	}
}

// tieSQL gives the slots table a foreign key to a base table.
func (t *table) tieSQL(base string) string {
	key := strings.Join(quoteNames(t.key), ", ")
	return "ALTER TABLE " + t.slots() + " ADD FOREIGN KEY (" + key + ") REFERENCES " + base + " (" + key + ") ON DELETE CASCADE"
}

// tiedSQL asks whether the slots table has a foreign key.
func (t *table) tiedSQL() string {
	return "SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = " + text(t.spec.db) + " AND TABLE_NAME = " + text(t.spec.slotsTable)
}
