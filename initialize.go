package countermysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/countermysql/countermysql/internal/catalog"
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
	s, err := c.watcher.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	keyed, err := tablesNamed(s, options.ForeignKeys, c.cfg.DBName)
	if err != nil {
		return nil, err
	}
	if len(options.ForeignKeys) == 0 {
		keyed = nil
	}
	i := initialization{c: c, dry: options.DryRun}
	for _, t := range s.All() {
		if err := i.fit(ctx, t); err != nil {
			return i.statements, err
		}
	}
	i.errs = append(i.errs, complete(s))
	for _, t := range keyed {
		if err := i.tie(ctx, t); err != nil {
			return i.statements, err
		}
	}
	if !i.dry {
		if _, err := c.watcher.Refresh(ctx); err != nil {
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

func (i *initialization) run(ctx context.Context, t *catalog.Table, stmts ...string) {
	for _, stmt := range stmts {
		i.statements = append(i.statements, stmt)
		if i.dry {
			continue
		}
		if err := i.c.lookups.Exec(ctx, stmt); err != nil {
			i.failed(t, err)
			return
		}
	}
}

func (i *initialization) failed(t *catalog.Table, err error) {
	i.errs = append(i.errs, fmt.Errorf("countermysql: the slots table of %s: %w", t, err))
}

// fit makes the slots table of a table, or changes it so that it fits.
func (i *initialization) fit(ctx context.Context, t *catalog.Table) error {
	switch {
	case t.Unfit != nil:
		i.errs = append(i.errs, &UnfitError{Table: t.String(), Reasons: t.Unfit})
	case t.Missing == "":
	case t.Taken || t.Unseen:
		i.errs = append(i.errs, t.SlotsError())
		return nil
	default:
		if steps := t.MissingSteps(); len(steps) > 1 {
			rows, err := i.c.lookups.Query(ctx, "SELECT 1 FROM "+t.Slots()+" LIMIT 1")
			if err != nil {
				return err
			}
			if len(rows) > 0 {
				i.errs = append(i.errs, fmt.Errorf("countermysql: slots table %s no longer fits %s and holds increments; add them to the base rows and run:\n%s", t.Spec.SlotsTable, t, t.Missing))
				return nil
			}
		}
		i.statements = append(i.statements, t.MissingSteps()...)
		if !i.dry {
			if err := i.c.watcher.MakeSlots(ctx, t); err != nil {
				i.failed(t, err)
			}
		}
	}
	if t.Narrow != "" {
		i.run(ctx, t, t.Narrow)
	}
	if t.Closed {
		i.run(ctx, t, "ALTER TABLE "+t.Slots()+" COMMENT = ''")
	}
	return nil
}

// tie gives a slots table its foreign key, if it has none.
func (i *initialization) tie(ctx context.Context, t *catalog.Table) error {
	if len(t.Key) == 0 || t.Unfit != nil {
		return nil
	}
	rows, err := i.c.lookups.Query(ctx, t.TiedSQL())
	if err == nil && len(rows) == 0 {
		i.run(ctx, t, t.ForeignKeySQL()...)
	}
	return err
}
