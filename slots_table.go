package countermysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// createSlots runs the DDL that slots tables lack, and reports whether there may be
// news: many processes that start together do the same.
func (c *Connector) createSlots(ctx context.Context, look *sql.DB, s *schema, first bool) (again bool, err error) {
	for _, key := range sortedKeys(s.tables) {
		if t := s.tables[key]; t.missing != "" && t.unfit == nil {
			err := c.unlessRefused(t.missing, func() error { return makeSlots(ctx, look, t) })
			var full *SlotsTableError
			switch n := errorNumber(err); {
			case err == nil, n == errDuplicateColumn, n == errNoTable:
				again = true
			case n == errLockWait: // a transaction is open for long; it is tried again
				if !t.makesDo() {
					t.unmade = err
				}
			case errors.As(err, &full): // the table's own statements say so, and no others fail
				again = again || first // perhaps it is another's new one
			case n == 0:
				return false, fmt.Errorf("countermysql: making the slots table of %s: %w", t, err)
			default: // no privilege, say, or somebody uses it: others' statements do not fail for that
				t.unmade = cmp.Or(t.unmade, err)
			}
		} else if t.narrow != "" { // perhaps the table is in use: until then increments are verbatim
			err := c.unlessRefused(t.narrow, func() error {
				_, err := look.ExecContext(ctx, t.narrow)
				return err
			})
			again = again || err == nil
		} else if wanted := c.wantedOf(t); wanted != nil {
			again = c.addTouch(ctx, look, t, wanted) || again
		}
	}
	return again, nil
}

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
	switch n := errorNumber(err); n {
	case 0, errDuplicateColumn, errNoTable:
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
func makeSlots(ctx context.Context, db *sql.DB, t *table) (err error) {
	steps := t.missingSteps()
	if len(steps) == 1 {
		_, err := db.ExecContext(ctx, steps[0])
		return err
	}
	if t.taken {
		return t.slotsError()
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	switch _, err := conn.ExecContext(ctx, "LOCK TABLES "+t.slots()+" WRITE"); {
	case err == nil:
		defer func() {
			if _, uerr := conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES"); err == nil {
				err = uerr
			}
		}()
	case !denied[errorNumber(err)]: // without the privilege it has to do without
		return err
	}
	var some bool
	if err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+t.slots()+")").Scan(&some); err != nil {
		return err
	}
	if some {
		return t.slotsError()
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
