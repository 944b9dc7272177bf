package countermysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/maintain"
)

// DefaultMaxLock is for how long a rollup keeps base rows locked at a time,
// unless RollupOptions says otherwise.
const DefaultMaxLock = maintain.DefaultMaxLock

// RollupOptions bound a rollup. Nil is the same as the zero value.
type RollupOptions struct {
	// Tables are the tables to roll up, "post" or "db.post"; none means every
	// table with counters.
	Tables []string

	// MaxLock is for how long a transaction of the rollup may keep base rows
	// locked, which increments of these rows wait for; the number of rows per
	// transaction is adapted to it. A row that somebody else keeps locked is
	// waited for as long, rounded up to seconds, and then left for the next
	// rollup. 0 means DefaultMaxLock.
	MaxLock time.Duration

	// Progress, if not nil, is called after each transaction. It must not
	// use the options or the result.
	Progress func(RollupProgress)
}

// RollupProgress says how far a rollup has got with a table.
type RollupProgress struct {
	Table string // database.table
	Slots int64  // rows of the slots table that were dealt with
	Total int64  // rows that it had when the rollup came to the table
}

// Rollup adds the slots of every counter to the base rows, so that clients
// that do not know about slots see every count and reads are as fast as they
// can be. No value changes by it at any moment, even if it is killed: each of its
// transactions takes some base rows, the keys in order, and moves what their
// slots hold. It may run at any time, beside any load and beside other rollups:
// of one table one works and the others wait.
//
// The result tells what was done, also beside an error; run it again to go on.
// The db has to be countermysql's.
func Rollup(ctx context.Context, db *sql.DB, options *RollupOptions) ([]RolledUp, error) {
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	return c.rollUp(ctx, options, true)
}

// RolledUp is what a rollup did to one table: base rows that got the sum of their slots
// (Keys), rows removed from the slots table (Slots), and those of them whose base rows no
// longer exist (Orphans, beside Slots); keys left because somebody kept the base row locked
// (Busy), or because the base row can't take their slots (Left, at most 100).
type RolledUp = maintain.RolledUp

// Left is a key whose slots, or a part of them, stay where they are: they are
// counted, and every read shows them.
type Left = maintain.Left

// rollUp is Rollup. Without wait a table that somebody else rolls up is left out.
func (c *Connector) rollUp(ctx context.Context, options *RollupOptions, wait bool) (done []RolledUp, err error) {
	if options == nil {
		options = &RollupOptions{}
	}
	c.stats.Rollups.Add(1)
	defer func() {
		if err != nil {
			c.stats.RollupErrors.Add(1)
		}
	}()
	s, err := c.watcher.Schema(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := maintain.Named(s, options.Tables, c.cfg.DBName)
	if err != nil {
		return nil, err
	}
	var errs []error
	if wait && len(options.Tables) == 0 { // in the background it has been logged
		errs = append(errs, maintain.Complete(s))
	}
	for _, t := range tables {
		switch {
		case t.Unfit != nil:
			errs = append(errs, &UnfitError{Table: t.String(), Reasons: t.Unfit})
			continue
		case t.Unfolded:
			errs = append(errs, &UnfitError{Table: t.String(), Reasons: t.Degraded})
			continue
		case t.Missing != "" && t.Missing == t.CreateSQL() && !t.Unseen:
			continue // there is no slots table, and so nothing to roll up
		case t.Missing != "":
			errs = append(errs, t.SlotsError())
			continue
		}
		out, err := c.rollUpTable(ctx, t, options, wait)
		if out != nil {
			c.stats.RolledUp(maintain.Statistics(out))
			done = append(done, *out)
		}
		if ctx.Err() != nil {
			return done, errors.Join(append(errs, ctx.Err())...)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("countermysql: rolling up %s: %w", t, err))
		}
	}
	return done, errors.Join(errs...)
}

// rollup is work on one table, on a connection of its own.
type rollup struct {
	*maintain.Rollup
	conn *conn
}

// newRollup opens a connection for work on a table.
func (c *Connector) newRollup(ctx context.Context, t *catalog.Table, maxLock time.Duration) (*rollup, error) {
	raw, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	k := raw.(*conn)
	r, err := maintain.New(ctx, k.Folder, t, maxLock, func(t *catalog.Table, k catalog.Key, reason string) {
		c.once("rollup "+t.String(), "countermysql: slots can't be rolled up", "table", t.String(), "key", t.Describe(k), "reason", reason)
	})
	if err != nil {
		k.Close()
		return nil, err
	}
	return &rollup{r, k}, nil
}

func (r *rollup) close() { _ = r.conn.Close() }

func (c *Connector) rollUpTable(ctx context.Context, t *catalog.Table, options *RollupOptions, wait bool) (*RolledUp, error) {
	r, err := c.newRollup(ctx, t, options.MaxLock)
	if err != nil {
		return nil, err
	}
	defer r.close() // which also gives back its GET_LOCK, and rolls back
	if mine, err := r.Reserve(ctx, wait); err != nil || !mine {
		return nil, err
	}
	defer func() { c.trafficOf(t).slots.Forget() }()
	var progress func(slots, total int64)
	if options.Progress != nil {
		progress = func(slots, total int64) { options.Progress(RollupProgress{t.String(), slots, total}) }
	}
	return r.Out, r.Run(ctx, progress)
}
