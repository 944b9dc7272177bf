package countermysql

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

// createSlots runs the DDL that slots tables lack, and reports whether there may be
// news: many processes that start together do the same.
func (c *Connector) createSlots(ctx context.Context, look *sql.DB, s *catalog.Schema, first bool) (again bool, err error) {
	for _, key := range sqltext.SortedKeys(s.Tables) {
		if t := s.Tables[key]; t.Missing != "" && t.Unfit == nil {
			err := c.unlessRefused(t.Missing, func() error { return makeSlots(ctx, look, t) })
			var full *SlotsTableError
			switch n := mysqlerr.Number(err); {
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
			err := c.unlessRefused(t.Narrow, func() error {
				_, err := look.ExecContext(ctx, t.Narrow)
				return err
			})
			again = again || err == nil
		} else if wanted := c.wantedOf(t); wanted != nil {
			again = c.addTouch(ctx, look, t, wanted) || again
		}
	}
	return again, nil
}

// outrun are the errors of DDL of a slots table where another process was quicker.
var outrun = map[uint16]bool{mysqlerr.ErrDuplicateColumn: true, mysqlerr.ErrNoTable: true, mysqlerr.ErrNoColumn: true}

// refusedDDL is what the server said of it, which is not tried again before a time.
type refusedDDL struct {
	err   error
	pause time.Duration
	until time.Time
}

// Pauses between tries of refused DDL: each is twice as long as the one before.
const (
	shortestPause = 30 * time.Second
	longestPause  = 5 * time.Minute
)

// unlessRefused runs DDL of a slots table, unless the server has refused it lately:
// while it waits for its table all statements on that wait behind it, and each process
// would have them do so with every reading of the schema.
func (c *Connector) unlessRefused(ddl string, run func() error) error {
	r := c.refused[ddl]
	if time.Now().Before(r.until) {
		return r.err
	}
	err := run()
	if n := mysqlerr.Number(err); n == 0 || outrun[n] {
		delete(c.refused, ddl)
		return err
	}
	r.pause = min(max(2*r.pause, shortestPause), longestPause)
	c.refused[ddl] = refusedDDL{err, r.pause, time.Now().Add(r.pause + rand.N(r.pause/4))} // or many processes try at once
	return err
}

// makeSlots runs the DDL that a table's slots table lacks. One that holds
// slots is never dropped, nor is a table of the application's: it is locked first,
// because others may still write to it.
func makeSlots(ctx context.Context, db *sql.DB, t *catalog.Table) (err error) {
	steps := t.MissingSteps()
	if len(steps) == 1 {
		_, err := db.ExecContext(ctx, steps[0])
		return err
	}
	if t.Taken {
		return slotsError(t)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	switch _, err := conn.ExecContext(ctx, "LOCK TABLES "+t.Slots()+" WRITE"); {
	case err == nil:
		defer func() {
			if _, uerr := conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES"); err == nil {
				err = uerr
			}
		}()
	case !mysqlerr.Denied[mysqlerr.Number(err)]: // without the privilege it has to do without
		return err
	}
	var some bool
	if err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+t.Slots()+")").Scan(&some); err != nil {
		return err
	}
	if some {
		return slotsError(t)
	}
	if _, err := conn.ExecContext(ctx, steps[0]); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "UNLOCK TABLES"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, steps[1])
	return err
}
