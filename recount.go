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
	Table, Counter, Key string
	Value               string // as every read shows it
	Recounted           string // as the query says
	Repaired            bool
}

// Recount compares counters with the queries that define them
// (TableConfig.Recount), in one snapshot, and corrects them if that is asked for.
// It is exact where a row and its increment are written in one transaction, and
// may run under any load: a correction is added to the base row while that is
// locked, by a difference read after the lock was taken. Where they are not in one
// transaction, what is between the two counts as a difference: do not repair then.
func Recount(ctx context.Context, db *sql.DB, options *RecountOptions) ([]Drift, error) {
	if options == nil {
		options = &RecountOptions{}
	}
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	s, err := c.watcher.Schema(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := maintain.Named(s, options.Tables, c.cfg.DBName)
	if err != nil {
		return nil, err
	}
	var all []Drift
	var errs []error
	found := false
	for _, t := range tables {
		if len(t.Spec.Recount) == 0 {
			continue
		}
		found = true
		switch {
		case t.Unfit != nil:
			errs = append(errs, &UnfitError{Table: t.String(), Reasons: t.Unfit})
			continue
		case t.Unsummed || t.Unfolded:
			errs = append(errs, &UnfitError{Table: t.String(), Reasons: t.Degraded})
			continue
		case t.Missing != "":
			errs = append(errs, t.SlotsError())
			continue
		}
		drifts, err := c.recountTable(ctx, t, options)
		all = append(all, drifts...)
		if err != nil {
			errs = append(errs, fmt.Errorf("countermysql: recounting %s: %w", t, err))
		}
	}
	if !found {
		return nil, &ConfigError{Place: "recount", Problem: "no counter has a query that defines it", Remedy: "write recount: {counter: SELECT key, COUNT(*) … GROUP BY key} beside its table"}
	}
	return all, errors.Join(errs...)
}

func (c *Connector) recountTable(ctx context.Context, t *catalog.Table, options *RecountOptions) ([]Drift, error) {
	r, err := c.newRollup(ctx, t, options.MaxLock)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var counts []maintain.Recount
	for _, col := range t.Counters {
		query := t.Spec.RecountOf(col)
		if query == "" {
			continue
		}
		n := maintain.Recount{Table: t, Counter: col, Query: query}
		if err := n.Describe(ctx, r.Folder); err != nil {
			return nil, err
		}
		counts = append(counts, n)
	}
	var drifts []Drift
	keys := map[string]catalog.Key{}
	for _, n := range counts {
		rows, err := n.Differences(ctx, r.Folder)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			k := catalog.Key(row[:len(t.Key)])
			keys[k.ID()] = k
			at := row[max(len(t.Key), 1):]
			drifts = append(drifts, Drift{Table: t.String(), Counter: n.Counter.Name, Key: t.Describe(k), Value: at[0], Recounted: at[1]})
		}
	}
	if !options.Repair || len(drifts) == 0 {
		return drifts, nil
	}
	repaired, err := r.Repair(ctx, counts, keys)
	for i := range drifts {
		d := &drifts[i]
		d.Repaired = repaired[d.Key]
	}
	return drifts, err
}
