package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// RecountOptions say what is counted anew.
type RecountOptions struct {
	Tables  []string // none: every table that has queries
	Repair  bool     // correct what differs
	MaxLock time.Duration

	derived bool // of derived counters alone
}

// Drift is a counter whose value is not what its query says.
type Drift struct {
	Table, Counter, Key string
	Value               string // as every read shows it
	Recounted           string // as the query says
	Repaired            bool
}

// Recount compares counters with the queries that define them, and corrects them if that is
// asked for.
func (m *Maintainer) Recount(ctx context.Context, options RecountOptions) ([]Drift, error) {
	s, err := m.Shared.Watcher.Schema(ctx)
	if err != nil {
		return nil, err
	}
	tables, err := Named(s, options.Tables, m.Shared.Config.DBName)
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
			errs = append(errs, &catalog.UnfitError{Table: t.String(), Reasons: t.Unfit})
			continue
		case t.Unsummed || t.Unfolded:
			errs = append(errs, &catalog.UnfitError{Table: t.String(), Reasons: t.Degraded})
			continue
		case t.Missing != "":
			errs = append(errs, t.SlotsError())
			continue
		}
		drifts, err := m.recountTable(ctx, t, options)
		all = append(all, drifts...)
		if err != nil {
			errs = append(errs, fmt.Errorf("countermysql: recounting %s: %w", t, err))
		}
	}
	if !found {
		return nil, &catalog.ConfigError{Place: "recount", Problem: "no counter has a query that defines it", Remedy: "write recount: {counter: SELECT key, COUNT(*) … GROUP BY key} beside its table"}
	}
	return all, errors.Join(errs...)
}

func (m *Maintainer) recountTable(ctx context.Context, t *catalog.Table, options RecountOptions) (drifts []Drift, err error) {
	r, err := m.open(ctx, t, options.MaxLock)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var counts []recount
	for _, col := range t.Counters {
		query := t.Spec.RecountOf(col)
		if query == "" || options.derived && t.Spec.FormulaOf(col) == nil {
			continue
		}
		n := recount{table: t, counter: col, query: query}
		if err := n.describe(ctx, r.folder); err != nil {
			return nil, err
		}
		counts = append(counts, n)
		if name := t.FullName(col); options.Repair { // before it is read, so that what is set meanwhile is noted
			if _, was := m.overridden.LoadAndDelete(name); was {
				defer func() {
					if err != nil {
						m.overridden.Store(name, true)
					}
				}()
			}
		}
	}
	keys := map[string]catalog.Key{}
	for _, n := range counts {
		rows, err := n.differences(ctx, r.folder)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			k := catalog.Key(row[:len(t.Key)])
			keys[k.ID()] = k
			at := row[max(len(t.Key), 1):]
			drifts = append(drifts, Drift{Table: t.String(), Counter: n.counter.Name, Key: t.Key.Describe(k), Value: at[0], Recounted: at[1]})
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

// recount is a counter and the query that defines it.
type recount struct {
	table   *catalog.Table
	counter *catalog.Column
	query   string
	columns []string // of the query
}

// describe learns the query's columns: the key and the value.
func (n *recount) describe(ctx context.Context, c *fold.Folder) error {
	rows, err := c.Queryer.QueryContext(ctx, "SELECT * FROM ("+n.query+") AS "+catalog.PrivateName+" LIMIT 0", nil)
	if err != nil {
		return fmt.Errorf("the query of counter %s: %w", n.counter.Name, err)
	}
	n.columns = slices.Clone(rows.Columns())
	if err := rows.Close(); err != nil {
		return err
	}
	if want := len(n.table.Key) + 1; len(n.columns) != want {
		return fmt.Errorf("the query of counter %s returns %d columns: it has to return the key (%s) and the value", n.counter.Name, len(n.columns), strings.Join(catalog.QuoteNames(n.table.Key), ", "))
	}
	return nil
}

// sql selects the rows, of all or of some keys, whose value is another.
func (n *recount) sql(where string) string {
	name := sqltext.Quote(n.table.Spec.Name)
	on := []string{"TRUE"}
	for i, k := range n.table.Key {
		on = append(on, slotsql.PrivateRows+"."+sqltext.Quote(n.columns[i])+" = "+name+"."+sqltext.Quote(k.Name))
	}
	value := "(" + slotsql.Sum(n.table, n.counter) + ")"
	truth := "COALESCE(" + slotsql.PrivateRows + "." + sqltext.Quote(n.columns[len(n.columns)-1]) + ", 0)"
	return "SELECT " + n.table.Key.Select(name) + ", CAST(" + value + " AS CHAR), CAST(" + truth + " AS CHAR), CAST(" + truth + " - " + value + " AS CHAR) FROM " +
		n.table.Base() + " AS " + name + " LEFT JOIN (" + n.query + ") AS " + slotsql.PrivateRows + " ON " + strings.Join(on, " AND ") +
		" WHERE " + value + " <> " + truth + where
}

// differences compares all rows in one snapshot.
func (n *recount) differences(ctx context.Context, c *fold.Folder) ([][]string, error) {
	for _, stmt := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
		if _, err := c.Do(ctx, stmt); err != nil {
			return nil, err
		}
	}
	order := ""
	if len(n.table.Key) > 0 {
		name := sqltext.Quote(n.table.Spec.Name)
		order = " ORDER BY " + name + "." + strings.Join(catalog.QuoteNames(n.table.Key), ", "+name+".")
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
	t := r.table
	repaired := map[string]bool{}
	r.correct = func(ctx context.Context, locked []catalog.Key) error {
		for _, n := range counts {
			rows, err := r.folder.Read(ctx, n.sql(" AND ("+slotsql.WhereAnyOrAll(t, locked, sqltext.Quote(t.Spec.Name))+")"))
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
			repaired[t.Key.Describe(k)] = true
		}
		return nil
	}
	var sorted []catalog.Key
	for _, k := range keys {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, t.Key.Compare)
	for batch := range slices.Chunk(sorted, r.folder.Settings.Several(t, r.size, slices.Values(sorted))) {
		if err := r.batch(ctx, batch); err != nil {
			return repaired, err
		}
	}
	if r.correct = nil; t.Fed { // what was corrected is in slots
		for batch := range slices.Chunk(sorted, r.folder.Settings.Several(t, r.size, slices.Values(sorted))) {
			if err := r.batch(ctx, batch); err != nil {
				return repaired, err
			}
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
	t, name := r.table, sqltext.Quote(r.table.Spec.Name)
	if t.Fed {
		return r.folder.Reserved(t).Add(ctx, k, col, difference)
	}
	ref := name + "." + sqltext.Quote(col.Name)
	sets := []string{ref + " = " + ref + " + (" + difference + ")"}
	for _, touch := range t.Touch {
		if touch.OnUpdate {
			sets = append(sets, name+"."+sqltext.Quote(touch.Name)+" = "+name+"."+sqltext.Quote(touch.Name))
		}
	}
	_, err := r.folder.Do(ctx, "UPDATE "+t.Base()+slotsql.ForceKey(t)+" SET "+strings.Join(sets, ", ")+" WHERE "+t.Key.Where(k, name))
	return err
}
