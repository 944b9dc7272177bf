package countermysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
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
	s, err := c.schema(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := s.named(options.Tables, c.cfg.DBName)
	if err != nil {
		return nil, err
	}
	var all []Drift
	var errs []error
	found := false
	for _, t := range tables {
		if len(t.spec.recount) == 0 {
			continue
		}
		found = true
		switch {
		case t.unfit != nil:
			errs = append(errs, &UnfitError{t.String(), t.unfit})
			continue
		case t.unsummed || t.unfolded:
			errs = append(errs, &UnfitError{t.String(), t.degraded})
			continue
		case t.missing != "":
			errs = append(errs, t.slotsError())
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
	t       *table
	counter *column
	query   string
	columns []string // of the query
}

func (s tableSpec) recountOf(c *column) string { return s.recount[strings.ToLower(c.name)] }

func (c *Connector) recountTable(ctx context.Context, t *table, options *RecountOptions) ([]Drift, error) {
	r, err := c.newRollup(ctx, t, options.MaxLock)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var counts []recount
	for _, col := range t.counters {
		query := t.spec.recountOf(col)
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
	keys := map[string]key{}
	for _, n := range counts {
		rows, err := n.differences(ctx, r.c)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			k := key(row[:len(t.key)])
			keys[k.id()] = k
			at := row[max(len(t.key), 1):]
			drifts = append(drifts, Drift{Table: t.String(), Counter: n.counter.name, Key: t.describe(k), Value: at[0], Recounted: at[1]})
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
	rows, err := c.queryer.QueryContext(ctx, "SELECT * FROM ("+n.query+") AS "+privateName+" LIMIT 0", nil)
	if err != nil {
		return fmt.Errorf("the query of counter %s: %w", n.counter.name, err)
	}
	n.columns = slices.Clone(rows.Columns())
	if err := rows.Close(); err != nil {
		return err
	}
	if want := len(n.t.key) + 1; len(n.columns) != want {
		return fmt.Errorf("the query of counter %s returns %d columns: it has to return the key (%s) and the value", n.counter.name, len(n.columns), strings.Join(quoteNames(n.t.key), ", "))
	}
	return nil
}

// sql selects the rows, of all or of some keys, whose value is another.
func (n *recount) sql(where string) string {
	name := quoteIdent(n.t.spec.name)
	on := []string{"TRUE"}
	for i, k := range n.t.key {
		on = append(on, privateRows+"."+quoteIdent(n.columns[i])+" = "+name+"."+quoteIdent(k.name))
	}
	value := name + "." + quoteIdent(n.counter.name)
	truth := "COALESCE(" + privateRows + "." + quoteIdent(n.columns[len(n.columns)-1]) + ", 0)"
	return "SELECT " + n.t.selectKey(name) + ", CAST(" + value + " AS CHAR), CAST(" + truth + " AS CHAR), CAST(" + truth + " - " + value + " AS CHAR) FROM " +
		n.t.view(sight{}, "", n.t.cols) + " AS " + name + " LEFT JOIN (" + n.query + ") AS " + privateRows + " ON " + strings.Join(on, " AND ") +
		" WHERE " + value + " <> " + truth + where
}

// differences compares all rows in one snapshot.
func (n *recount) differences(ctx context.Context, c *conn) ([][]string, error) {
	for _, stmt := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
		if _, err := c.do(ctx, stmt); err != nil {
			return nil, err
		}
	}
	order := ""
	if len(n.t.key) > 0 {
		name := quoteIdent(n.t.spec.name)
		order = " ORDER BY " + name + "." + strings.Join(quoteNames(n.t.key), ", "+name+".")
	}
	rows, err := c.read(ctx, n.sql("")+order)
	c.ended()
	if _, rerr := c.do(context.WithoutCancel(ctx), rollback); err == nil {
		err = rerr
	}
	return rows, err
}

// repair corrects keys in batches and returns which, as described.
func (r *rollup) repair(ctx context.Context, counts []recount, keys map[string]key) (map[string]bool, error) {
	t := r.t
	repaired := map[string]bool{}
	r.correct = func(ctx context.Context, locked []key) error {
		for _, n := range counts {
			rows, err := r.c.read(ctx, n.sql(" AND ("+t.whereAnyOrAll(locked, quoteIdent(t.spec.name))+")"))
			if err != nil {
				return err
			}
			for _, row := range rows {
				k := key(row[:len(t.key)])
				if err := r.add(ctx, k, n.counter, row[len(row)-1]); err != nil {
					return err
				}
			}
		}
		for _, k := range locked {
			repaired[t.describe(k)] = true
		}
		return nil
	}
	var sorted []key
	for _, k := range keys {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, t.compare)
	for batch := range slices.Chunk(sorted, r.c.several(t, r.size, slices.Values(sorted))) {
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
func (r *rollup) add(ctx context.Context, k key, col *column, difference string) error {
	t, name := r.t, quoteIdent(r.t.spec.name)
	ref := name + "." + quoteIdent(col.name)
	sets := []string{ref + " = " + ref + " + (" + difference + ")"}
	for _, touch := range t.touch {
		if touch.onUpdate {
			sets = append(sets, name+"."+quoteIdent(touch.name)+" = "+name+"."+quoteIdent(touch.name))
		}
	}
	_, err := r.c.do(ctx, "UPDATE "+t.base()+t.forceKey()+" SET "+strings.Join(sets, ", ")+" WHERE "+t.where(k, name))
	return err
}
