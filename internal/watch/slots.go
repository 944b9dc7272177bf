package watch

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// makeMissing runs the DDL that slots tables lack, and reports whether there may be
// news: many processes that start together do the same.
func (w *Watcher) makeMissing(ctx context.Context, look *sql.DB, s *catalog.Schema, first bool) (again bool, err error) {
	for _, key := range sqltext.SortedKeys(s.Tables) {
		if t := s.Tables[key]; t.Missing != "" && t.Unfit == nil {
			err := w.refused.unless(t.Missing, func() error { return w.MakeSlots(ctx, s.Server, t) })
			var full *catalog.SlotsTableError
			switch n := mysqlerr.Number(err); {
			case errors.Is(err, errAltered):
				t.Unmade, again = err, true // all is read once more
			case err == nil, outrun[n]:
				again = true
			case n == mysqlerr.ErrLockWait: // a transaction is open for long; it is tried again
				if !t.MakesDo() {
					t.Unmade = err
				}
			case errors.As(err, &full): // the table's own statements say so, and no others fail
				again = again || first // perhaps it is another's new one
			case n == 0:
				return false, fmt.Errorf("countermysql: making the slots table of %s: %w", t, err)
			default: // no privilege, say, or somebody uses it: others' statements do not fail for that
				t.Unmade = cmp.Or(t.Unmade, err)
			}
		} else if t.Narrow != "" { // perhaps the table is in use: until then increments are verbatim
			err := w.refused.unless(t.Narrow, func() error {
				_, err := look.ExecContext(ctx, t.Narrow)
				return err
			})
			again = again || err == nil
		} else if wanted := w.WantedOf(t); wanted != nil {
			again = w.addTouch(ctx, look, t, wanted) || again
		}
	}
	return again, nil
}

// outrun are the errors of DDL of a slots table where another process was quicker.
var outrun = map[uint16]bool{mysqlerr.ErrDuplicateColumn: true, mysqlerr.ErrNoTable: true, mysqlerr.ErrNoColumn: true}

// errAltered says that DDL of a slots table was for a base table that has changed since.
var errAltered = errors.New("countermysql: the table was altered while its slots table was made; try again")

// MakeSlots runs the DDL that a table's slots table lacks, if the base table is still what
// it was. One that holds slots is never dropped, nor is a table of the application's: it
// is locked first, because others may still write to it.
func (w *Watcher) MakeSlots(ctx context.Context, srv catalog.Server, t *catalog.Table) (err error) {
	look, err := w.config.Lookups.DB()
	if err != nil {
		return err
	}
	steps := t.DDL().Steps()
	if t.DDL().Renumbers() {
		if err := w.DropFeeders(ctx, t); err != nil {
			return err
		}
	}
	if len(steps) == 1 {
		return makeHeld(ctx, look, srv, t, steps[0])
	}
	if t.Taken {
		return t.SlotsError()
	}
	conn, err := look.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	switch _, err := conn.ExecContext(ctx, cmp.Or(t.DDL().Shut(), "LOCK TABLES "+t.Slots()+" WRITE")); {
	case mysqlerr.Constraint[mysqlerr.Number(err)]:
		return t.SlotsError()
	case err == nil:
		defer func() {
			if _, uerr := conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES"); err == nil {
				err = uerr
			}
		}()
	case !mysqlerr.Denied[mysqlerr.Number(err)]: // without the privilege it has to do without
		return err
	}
	switch err := conn.QueryRowContext(ctx, "SELECT 1 FROM "+t.Slots()+" LIMIT 1").Scan(new(int)); {
	case err == nil:
		return t.SlotsError()
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	if _, err := conn.ExecContext(ctx, steps[0]); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "UNLOCK TABLES"); err != nil {
		return err
	}
	return makeHeld(ctx, look, srv, t, steps[1])
}

// DropFeeders drops the triggers that write the slots of a table, where these get other columns: every write
// of what they are for would fail then. It says so, as nothing keeps the counters from then on.
func (w *Watcher) DropFeeders(ctx context.Context, t *catalog.Table) error {
	if !t.Fed {
		return nil
	}
	feeders, err := w.config.Lookups.Query(ctx, catalog.Feeders)
	for _, drop := range catalog.DropFeeders(t, feeders) {
		if err == nil {
			err = w.config.Lookups.Exec(ctx, drop)
		}
	}
	w.config.Warn("triggers "+t.String(), "countermysql: the table has another key, and nothing keeps its derived counters until countermysql init has made their triggers again", "table", t.String(), "error", err)
	return err
}

// makeHeld runs the DDL that makes a slots table, or gives it columns, while nobody can alter
// the base table: others would fill one that is for a key which the table no longer has.
func makeHeld(ctx context.Context, look *sql.DB, srv catalog.Server, t *catalog.Table, ddl string) (err error) {
	holder, err := look.Conn(ctx)
	if err != nil {
		return err
	}
	defer holder.Close()
	if _, err := holder.ExecContext(ctx, "START TRANSACTION"); err != nil {
		return err
	}
	defer func() {
		if _, rerr := holder.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err == nil {
			err = rerr
		}
	}()
	if _, err := holder.ExecContext(ctx, "SELECT 1 FROM "+t.Base()+" LIMIT 0"); err != nil {
		return err
	}
	switch still, err := t.StillKeyed(ctx, holder, srv); {
	case err != nil:
		return err
	case !still:
		return errAltered
	}
	_, err = look.ExecContext(ctx, ddl) // on another connection: DDL commits
	if n := mysqlerr.Number(err); n == mysqlerr.ErrManyKeyParts || n == mysqlerr.ErrLongKey {
		return fmt.Errorf("its key is too wide, as the slots table's has the slot's number as well; make it narrower, or take the table from the list: %w", err)
	}
	return err
}

// refusals are the DDL of slots tables that the server has refused.
type refusals map[string]refusal

// refusal is what the server said of a statement, which is not tried again before a time.
type refusal struct {
	err   error
	pause time.Duration
	until time.Time
}

// Pauses between tries of refused DDL: each is twice as long as the one before.
const (
	shortestPause = 30 * time.Second
	longestPause  = 5 * time.Minute
)

// unless runs DDL of a slots table, unless the server has refused it lately:
// while it waits for its table all statements on that wait behind it, and each process
// would have them do so with every reading of the schema. A server that is read-only has nobody wait.
func (r refusals) unless(ddl string, run func() error) error {
	last := r[ddl]
	if time.Now().Before(last.until) {
		return last.err
	}
	err := run()
	if n := mysqlerr.Number(err); n == 0 || outrun[n] || n == mysqlerr.ErrReadOnlyServer {
		delete(r, ddl)
		return err
	}
	pause := min(max(2*last.pause, shortestPause), longestPause)
	r[ddl] = refusal{err, pause, time.Now().Add(pause + rand.N(pause/4))} // or many processes try at once
	return err
}
