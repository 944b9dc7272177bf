package countermysql

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/countermysql/countermysql/internal/maintain"
)

// RecountOptions are for Recount. Nil is the same as the zero value.
type RecountOptions struct {
	// Tables are the tables to recount, "post" or "db.post"; none means every
	// table that has queries.
	Tables []string

	// Repair corrects what differs; otherwise it is only reported.
	Repair bool

	// MaxLock is as in RollupOptions.
	MaxLock time.Duration
}

// Drift is a counter whose value is not what its query says.
type Drift struct {
	Table     string // database.table
	Counter   string // the column
	Key       string // for people: the row's key columns and values
	Value     string // as every read shows it
	Recounted string // as the query says
	Repaired  bool   // the difference was added to the base row
}

// Recount compares counters with the queries that define them
// (TableConfig.Recount), in one snapshot, and corrects them if that is asked for.
// It is exact where a row and its increment are written in one transaction, and
// may run under any load: a correction is added to the base row while that is
// locked, by a difference read after the lock was taken. Where they are not in one
// transaction, what is between the two counts as a difference: do not repair then.
// A counter that is NULL is not compared.
func Recount(ctx context.Context, db *sql.DB, options *RecountOptions) ([]Drift, error) {
	options = cmp.Or(options, &RecountOptions{})
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	found, err := c.background.Recount(ctx, maintain.RecountOptions{Tables: options.Tables, Repair: options.Repair, MaxLock: options.MaxLock})
	var drifts []Drift
	for _, d := range found {
		drifts = append(drifts, Drift(d))
	}
	return drifts, err
}
