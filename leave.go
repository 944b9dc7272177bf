package countermysql

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/maintain"
)

// DefaultNotice, 35 seconds, is how long every process with the driver takes, at most, to
// notice that a slots table was closed.
const DefaultNotice = catalog.SchemaTooOld + 5*time.Second

// DropOptions are for Drop. Nil is the same as the zero value.
type DropOptions struct {
	// Tables are the tables to leave, "post" or "db.post"; none means all.
	Tables []string

	// StopOnly keeps the slots tables, closed and empty: for processes that
	// still have the counters in their lists, which need them. Take the counters
	// from all lists, then Drop without it.
	StopOnly bool

	// History drops history tables too, with what is in them, which is nowhere else.
	History bool

	// Notice is how long to wait for other processes to notice that the slots
	// tables are closed; 0 means DefaultNotice. Where there is no other process, a
	// nanosecond will do.
	Notice time.Duration

	// Progress is as in RollupOptions.
	Progress func(RollupProgress)

	// Stays, if not nil, is told of each table that stays, "db.post_history", and of the
	// statement that drops it.
	Stays func(table, statement string)
}

// Drop is the way out. It closes the slots tables, upon which increments change
// the base rows as they do without the driver; rolls everything up; makes sure,
// with both tables locked, that no slot is left; and drops the slots tables, and the
// triggers that write a history, whose table stays unless options say otherwise. The table
// countermysql_flushes goes with the last table that is Buffered, unless a process buffers
// something still, or was killed lately.
// Afterwards every client sees every count. Init goes back, until the tables are
// dropped.
//
// An increment of a transaction that began before the tables were closed and
// commits after they were dropped fails its COMMIT; none is lost in silence. A listed
// table or column that does not exist is an error, with which nothing has begun, unless
// options name the tables.
func Drop(ctx context.Context, db *sql.DB, options *DropOptions) ([]RolledUp, error) {
	options = cmp.Or(options, &DropOptions{})
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	return c.background.Drop(ctx, maintain.DropOptions{
		Tables: options.Tables, StopOnly: options.StopOnly, History: options.History, Notice: cmp.Or(options.Notice, DefaultNotice), Progress: told(options.Progress), Stays: options.Stays,
	})
}
