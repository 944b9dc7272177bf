package maintain

import (
	"context"
	"errors"
	"fmt"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/watch"
)

// Init makes the slots tables that are missing, changes those that do not fit, and gives
// those of the keyed tables a foreign key; dry runs nothing. It returns the statements.
func Init(ctx context.Context, w *watch.Watcher, pool *lookups.Pool, s *catalog.Schema, keyed []*catalog.Table, dry bool) ([]string, error) {
	i := initialization{watcher: w, lookups: pool, dry: dry}
	for _, t := range s.All() {
		if err := i.fit(ctx, s.Server, t); err != nil {
			return i.statements, err
		}
	}
	if err := i.flushes(ctx, s); err != nil {
		return i.statements, err
	}
	i.errs = append(i.errs, complete(s))
	for _, t := range keyed {
		if err := i.tie(ctx, t); err != nil {
			return i.statements, err
		}
	}
	if !dry {
		if _, err := w.Refresh(ctx); err != nil {
			i.errs = append(i.errs, err)
		}
	}
	return i.statements, errors.Join(i.errs...)
}

// initialization is one Init under way. A table that fails leaves the others to go on.
type initialization struct {
	watcher    *watch.Watcher
	lookups    *lookups.Pool
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
		if err := patiently(func() error { return i.lookups.Exec(ctx, stmt) }); err != nil {
			i.failed(t, err)
			return
		}
	}
}

func (i *initialization) failed(t *catalog.Table, err error) {
	i.errs = append(i.errs, fmt.Errorf("countermysql: the slots table of %s: %w", t, whenBusy(err)))
}

// fit makes the slots table of a table, or changes it so that it fits.
func (i *initialization) fit(ctx context.Context, srv catalog.Server, t *catalog.Table) error {
	switch {
	case t.Unfit != nil:
		i.errs = append(i.errs, &catalog.UnfitError{Table: t.String(), Reasons: t.Unfit})
	case t.Missing == "":
	case t.Taken || t.Unseen:
		i.errs = append(i.errs, t.SlotsError())
		return nil
	default:
		if steps := t.DDL().Steps(); len(steps) > 1 {
			rows, err := i.lookups.Query(ctx, "SELECT 1 FROM "+t.Slots()+" LIMIT 1")
			if err != nil {
				return err
			}
			if len(rows) > 0 {
				i.errs = append(i.errs, fmt.Errorf("countermysql: slots table %s no longer fits %s and holds increments; add them to the base rows and run:\n%s", t.Spec.SlotsTable, t, t.Missing))
				return nil
			}
		}
		i.statements = append(i.statements, t.DDL().Steps()...)
		if !i.dry {
			if err := patiently(func() error { return i.watcher.MakeSlots(ctx, srv, t) }); err != nil {
				i.failed(t, err)
			}
		}
	}
	if t.Narrow != "" {
		i.run(ctx, t, t.Narrow)
	}
	if t.Closed {
		i.run(ctx, t, t.DDL().Open())
	}
	return nil
}

// tie gives a slots table its foreign key, if it has none.
func (i *initialization) tie(ctx context.Context, t *catalog.Table) error {
	if len(t.Key) == 0 || t.Unfit != nil {
		return nil
	}
	rows, err := i.lookups.Query(ctx, t.DDL().Tied())
	if err == nil && len(rows) == 0 {
		i.run(ctx, t, t.DDL().Tie()...)
	}
	return err
}
