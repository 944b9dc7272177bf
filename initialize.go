package countermysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/countermysql/countermysql/internal/maintain"
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
// that has the slots table's name. A listed table or column that does not exist is an
// error, beside which all others are done.
//
// For histories and derived counters it makes the tables and triggers that are missing or other
// than configured, and then sets derived counters by their formulas, while others write.
func Init(ctx context.Context, db *sql.DB, options *InitOptions) (statements []string, err error) {
	options = cmp.Or(options, &InitOptions{})
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	s, err := c.watcher.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	keyed, err := maintain.Named(s, options.ForeignKeys, c.cfg.DBName)
	if err != nil {
		return nil, err
	}
	if len(options.ForeignKeys) == 0 {
		keyed = nil
	}
	statements, err = maintain.Init(ctx, c.watcher, c.lookups, s, keyed, options.DryRun)
	if !options.DryRun { // it has made slots tables
		now, rerr := c.watcher.Schema(ctx)
		if rerr != nil {
			return statements, errors.Join(err, rerr)
		}
		s = now
	}
	triggers, derr := c.background.MakeTriggers(ctx, s, options.DryRun)
	return append(statements, triggers...), errors.Join(err, derr)
}
