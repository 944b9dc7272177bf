package countermysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
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
	tables, err := tablesNamed(s, options.Tables, c.cfg.DBName)
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

// recount is a counter and the query that defines it.
type recount struct {
	t       *catalog.Table
	counter *catalog.Column
	query   string
	columns []string // of the query
}

func (c *Connector) recountTable(ctx context.Context, t *catalog.Table, options *RecountOptions) ([]Drift, error) {
	r, err := c.newRollup(ctx, t, options.MaxLock)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var counts []recount
	for _, col := range t.Counters {
		query := t.Spec.RecountOf(col)
		if query == "" {
			continue
		}
		n := recount{t: t, counter: col, query: query}
		if err := n.describe(ctx, r.c); err != nil {
			return nil, err
		}
		counts = append(counts, n)
	}
	var drifts []Drift
	keys := map[string]catalog.Key{}
	for _, n := range counts {
		rows, err := n.differences(ctx, r.c)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			k := catalog.Key(row[:len(t.Key)])
			keys[k.ID()] = k
			at := row[max(len(t.Key), 1):]
			drifts = append(drifts, Drift{Table: t.String(), Counter: n.counter.Name, Key: t.Describe(k), Value: at[0], Recounted: at[1]})
		}
	}
	if !options.Repair || len(drifts) == 0 {
		return drifts, nil
	}
	repaired, err := r.repair(ctx, counts, keys)
	for i := range drifts {
		d := &drifts[i]
		d.Repaired = repaired[d.Key]
	}
	return drifts, err
}

// describe learns the query's columns: the key and the value.
func (n *recount) describe(ctx context.Context, c *conn) error {
	rows, err := c.Queryer.QueryContext(ctx, "SELECT * FROM ("+n.query+") AS "+catalog.PrivateName+" LIMIT 0", nil)
	if err != nil {
		return fmt.Errorf("the query of counter %s: %w", n.counter.Name, err)
	}
	n.columns = slices.Clone(rows.Columns())
	if err := rows.Close(); err != nil {
		return err
	}
	if want := len(n.t.Key) + 1; len(n.columns) != want {
		return fmt.Errorf("the query of counter %s returns %d columns: it has to return the key (%s) and the value", n.counter.Name, len(n.columns), strings.Join(catalog.QuoteNames(n.t.Key), ", "))
	}
	return nil
}

// sql selects the rows, of all or of some keys, whose value is another.
func (n *recount) sql(where string) string {
	name := sqltext.Quote(n.t.Spec.Name)
	on := []string{"TRUE"}
	for i, k := range n.t.Key {
		on = append(on, slotsql.PrivateRows+"."+sqltext.Quote(n.columns[i])+" = "+name+"."+sqltext.Quote(k.Name))
	}
	value := name + "." + sqltext.Quote(n.counter.Name)
	truth := "COALESCE(" + slotsql.PrivateRows + "." + sqltext.Quote(n.columns[len(n.columns)-1]) + ", 0)"
	return "SELECT " + n.t.SelectKey(name) + ", CAST(" + value + " AS CHAR), CAST(" + truth + " AS CHAR), CAST(" + truth + " - " + value + " AS CHAR) FROM " +
		slotsql.View(n.t, slotsql.ReadView{}, "", n.t.Columns) + " AS " + name + " LEFT JOIN (" + n.query + ") AS " + slotsql.PrivateRows + " ON " + strings.Join(on, " AND ") +
		" WHERE " + value + " <> " + truth + where
}

// differences compares all rows in one snapshot.
func (n *recount) differences(ctx context.Context, c *conn) ([][]string, error) {
	for _, stmt := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
		if _, err := c.Do(ctx, stmt); err != nil {
			return nil, err
		}
	}
	order := ""
	if len(n.t.Key) > 0 {
		name := sqltext.Quote(n.t.Spec.Name)
		order = " ORDER BY " + name + "." + strings.Join(catalog.QuoteNames(n.t.Key), ", "+name+".")
	}
	rows, err := c.Read(ctx, n.sql("")+order)
	c.Ended()
	if _, rerr := c.Do(context.WithoutCancel(ctx), session.RollbackOnly); err == nil {
		err = rerr
	}
	return rows, err
}

// repair corrects keys in batches and returns which, as described.
func (r *rollup) repair(ctx context.Context, counts []recount, keys map[string]catalog.Key) (map[string]bool, error) {
	t := r.t
	repaired := map[string]bool{}
	r.correct = func(ctx context.Context, locked []catalog.Key) error {
		for _, n := range counts {
			rows, err := r.c.Read(ctx, n.sql(" AND ("+slotsql.WhereAnyOrAll(t, locked, sqltext.Quote(t.Spec.Name))+")"))
			if err != nil {
				return err
			}
			for _, row := range rows {
				k := catalog.Key(row[:len(t.Key)])
				if err := r.add(ctx, k, n.counter, row[len(row)-1]); err != nil {
					return err
				}
			}
		}
		for _, k := range locked {
			repaired[t.Describe(k)] = true
		}
		return nil
	}
	var sorted []catalog.Key
	for _, k := range keys {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, t.Compare)
	for batch := range slices.Chunk(sorted, r.c.Several(t, r.size, slices.Values(sorted))) {
		if err := r.batch(ctx, batch); err != nil {
			return repaired, err
		}
	}
	for _, left := range r.out.Left {
		delete(repaired, left.Key)
	}
	if len(r.out.Left) > 0 {
		return repaired, fmt.Errorf("row %s can't be corrected: %s", r.out.Left[0].Key, r.out.Left[0].Reason)
	}
	return repaired, nil
}

// add changes a locked base row, and no time that the server would set.
func (r *rollup) add(ctx context.Context, k catalog.Key, col *catalog.Column, difference string) error {
	t, name := r.t, sqltext.Quote(r.t.Spec.Name)
	ref := name + "." + sqltext.Quote(col.Name)
	sets := []string{ref + " = " + ref + " + (" + difference + ")"}
	for _, touch := range t.Touch {
		if touch.OnUpdate {
			sets = append(sets, name+"."+sqltext.Quote(touch.Name)+" = "+name+"."+sqltext.Quote(touch.Name))
		}
	}
	_, err := r.c.Do(ctx, "UPDATE "+t.Base()+slotsql.ForceKey(t)+" SET "+strings.Join(sets, ", ")+" WHERE "+t.Where(k, name))
	return err
}
