package maintain

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/formula"
	"github.com/countermysql/countermysql/internal/mysqlerr"
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
		err := catalog.Unfoldable(t)
		if t.Unfit == nil && t.Unsummed {
			err = &catalog.UnfitError{Table: t.String(), Reasons: t.Degraded}
		}
		if err != nil {
			errs = append(errs, err)
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
			keys[row.key.ID()] = row.key
			drifts = append(drifts, Drift{Table: t.String(), Counter: n.counter.Name, Key: t.Key.Describe(row.key), Value: row.value, Recounted: row.truth})
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
	bounded bool     // its keys are equal to constants as they are to the table's own
}

// describe learns the query's columns: the key and the value.
func (n *recount) describe(ctx context.Context, c *fold.Folder) error {
	rows, err := c.Queryer.QueryContext(ctx, "SELECT * FROM ("+n.query+"\n) AS "+catalog.PrivateName+" LIMIT 0", nil)
	if err != nil {
		return fmt.Errorf("the query of counter %s: %w", n.counter.Name, err)
	}
	for _, name := range rows.Columns() {
		n.columns = append(n.columns, strings.TrimPrefix(name, catalog.PrivateName+".")) // columnsWithAlias
	}
	of := ""
	n.bounded = n.table.Spec.FormulaOf(n.counter) != nil // whose keys have the table's types
	if types, ok := rows.(driver.RowsColumnTypeDatabaseTypeName); ok && len(n.columns) > 0 {
		value := len(n.columns) - 1
		of = types.ColumnTypeDatabaseTypeName(value)
		integers := !slices.ContainsFunc(n.table.Key, func(c *catalog.Column) bool { return !c.Integer() })
		for i := range value {
			integers = integers && strings.HasSuffix(types.ColumnTypeDatabaseTypeName(i), "INT")
		}
		n.bounded = n.bounded || integers
	}
	if err := rows.Close(); err != nil {
		return err
	}
	if want := len(n.table.Key) + 1; len(n.columns) != want {
		return fmt.Errorf("the query of counter %s returns %d columns: it has to return the key (%s) and the value", n.counter.Name, len(n.columns), strings.Join(catalog.QuoteNames(n.table.Key), ", "))
	}
	if of != "" && of != "NULL" && !formula.IsNumber(of) {
		return fmt.Errorf("the query of counter %s returns a %s as the value: it has to be a number, as CAST(… AS SIGNED) is", n.counter.Name, of)
	}
	return nil
}

// valued fails where the query gives a row no value that the counter can have, or several. Of
// a formula it is known that it does not.
func (n *recount) valued(ctx context.Context, c *fold.Folder, of []catalog.Key) error {
	t := n.table
	if t.Spec.FormulaOf(n.counter) != nil {
		return nil
	}
	name, truth := sqltext.Quote(t.Spec.Name), n.truth()
	group := ""
	if len(t.Key) > 0 {
		group = " GROUP BY " + strings.Join(t.Key.Refs(name), ", ")
	}
	bad := truth + " <> CAST(" + truth + " AS DECIMAL(65," + strconv.Itoa(n.counter.Fraction()) + "))"
	if low, high := n.counter.Limits(); low != nil {
		bad += " OR " + truth + " NOT BETWEEN " + n.counter.FormatBig(low) + " AND " + n.counter.FormatBig(high)
	}
	rows, err := c.Read(ctx, "SELECT "+t.Key.Select(name)+", COUNT(*), CAST(MAX(CASE WHEN "+bad+" THEN "+truth+" END) AS CHAR) FROM "+t.Base()+" AS "+name+
		" JOIN "+n.rows(of)+" AS "+slotsql.PrivateRows+" ON "+n.matches()+" WHERE "+n.isOf(of)+group+" HAVING COUNT(*) > 1 OR MAX("+bad+") LIMIT 1")
	if err != nil || len(rows) == 0 {
		return err
	}
	k, told := t.Key.Cut(rows[0])
	key, times, value := t.Key.Describe(k), told[0], told[1]
	if times != "1" {
		return fmt.Errorf("the query of counter %s returns row %s %s times: it has to return a key once, as GROUP BY does", n.counter.Name, key, times)
	}
	return fmt.Errorf("the query of counter %s returns %s for row %s, which %s can't hold", n.counter.Name, value, key, n.counter.ColumnType)
}

// rows is the query as a derived table; of some keys, those are all that it has to look at. Neither
// server lets a condition of a LEFT JOIN into it otherwise: it would be run whole for each of many parts.
func (n *recount) rows(of []catalog.Key) string {
	if of == nil || !n.bounded {
		return "(" + n.query + "\n)"
	}
	key := make(catalog.KeyColumns, len(n.table.Key))
	for i, k := range n.table.Key {
		named := *k
		named.Name = n.columns[i]
		key[i] = &named
	}
	return "(SELECT * FROM (" + n.query + "\n) AS " + catalog.PrivateName + " WHERE " + key.WhereAny(of, catalog.PrivateName) + " LIMIT " + sqltext.NoLimit + ")"
}

// isOf is true of all rows, or of those with some keys.
func (n *recount) isOf(keys []catalog.Key) string {
	if keys == nil {
		return "TRUE"
	}
	return "(" + slotsql.WhereAnyOrAll(n.table, keys, sqltext.Quote(n.table.Spec.Name)) + ")"
}

// matches joins the query's rows with the table's.
func (n *recount) matches() string {
	on := []string{"TRUE"}
	for i, k := range n.table.Key {
		on = append(on, slotsql.PrivateRows+"."+sqltext.Quote(n.columns[i])+" = "+sqltext.Qualified(n.table.Spec.Name, k.Name))
	}
	return strings.Join(on, " AND ")
}

// truth is the value that the query has for a row.
func (n *recount) truth() string {
	return slotsql.PrivateRows + "." + sqltext.Quote(n.columns[len(n.columns)-1])
}

// difference is a row whose value is another than the query's.
type difference struct {
	key                 catalog.Key
	value, truth, lacks string
}

// KeyOf is the row's key.
func (d difference) KeyOf() catalog.Key { return d.key }

// read reads those rows, of all or of some keys.
func (n *recount) read(ctx context.Context, c *fold.Folder, of []catalog.Key, order string) (all []difference, err error) {
	name := sqltext.Quote(n.table.Spec.Name)
	value := "(" + slotsql.Sum(n.table, n.counter) + ")"
	truth := "COALESCE(" + n.truth() + ", 0)"
	rows, err := c.Read(ctx, "SELECT "+n.table.Key.Select(name)+", CAST("+value+" AS CHAR), CAST("+truth+" AS CHAR), CAST("+truth+" - "+value+" AS CHAR) FROM "+
		n.table.Base()+" AS "+name+" LEFT JOIN "+n.rows(of)+" AS "+slotsql.PrivateRows+" ON "+n.matches()+
		" WHERE "+value+" <> "+truth+" AND "+n.isOf(of)+order)
	for _, row := range rows {
		k, told := n.table.Key.Cut(row)
		all = append(all, difference{key: k, value: told[0], truth: told[1], lacks: told[2]})
	}
	return all, mysqlerr.AsKilled(err)
}

// differences compares all rows in one snapshot.
func (n *recount) differences(ctx context.Context, c *fold.Folder) ([]difference, error) {
	for _, stmt := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"} {
		if _, err := c.Do(ctx, stmt); err != nil {
			return nil, err
		}
	}
	order := ""
	if len(n.table.Key) > 0 {
		name := sqltext.Quote(n.table.Spec.Name)
		order = " ORDER BY " + strings.Join(n.table.Key.Refs(name), ", ")
	}
	err := n.valued(ctx, c, nil)
	var rows []difference
	if err == nil {
		rows, err = n.read(ctx, c, nil, order)
	}
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
			if err := n.valued(ctx, r.folder, locked); err != nil {
				return err
			}
			rows, err := n.read(ctx, r.folder, locked, "")
			if err != nil {
				return err
			}
			if err := r.add(ctx, n.counter, rows); err != nil {
				return err
			}
		}
		for _, k := range locked {
			repaired[t.Key.Describe(k)] = true
		}
		return nil
	}
	sorted := slices.SortedFunc(maps.Values(keys), t.Key.Compare)
	foldAll := func() error {
		for batch := range session.Batches(&r.folder.Settings, t, r.size, sorted) {
			if err := r.batch(ctx, batch); err != nil {
				return err
			}
		}
		return nil
	}
	err := foldAll()
	if r.correct = nil; err == nil && t.Fed { // what was corrected is in slots
		err = foldAll()
	}
	if err != nil {
		return repaired, err
	}
	for _, left := range r.out.Left {
		delete(repaired, left.Key)
	}
	if len(r.out.Left) > 0 {
		return repaired, fmt.Errorf("row %s can't be corrected: %s", r.out.Left[0].Key, r.out.Left[0].Reason)
	}
	return repaired, nil
}

// add adds to a counter of locked base rows, or to their slots, what they lack.
func (r *rollup) add(ctx context.Context, col *catalog.Column, rows []difference) error {
	t, counter := r.table, sqltext.Qualified(r.table.Spec.Name, col.Name)
	for batch := range session.Batches(&r.folder.Settings, t, together(t), rows) {
		keys, lacks, value := catalog.KeysOf(batch), make([]string, len(batch)), "CASE"
		for i, row := range batch {
			lacks[i] = row.lacks
			value += " WHEN " + t.Key.Where(row.key, sqltext.Quote(t.Spec.Name)) + " THEN " + counter + " + (" + row.lacks + ")"
		}
		var err error
		if t.Fed {
			err = r.folder.Reserved(t).Add(ctx, col, keys, lacks)
		} else {
			err = r.set(ctx, keys, col, value+" ELSE "+counter+" END")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// set sets a counter of locked base rows, and no time that the server would set.
func (r *rollup) set(ctx context.Context, keys []catalog.Key, col *catalog.Column, value string) error {
	t, name := r.table, sqltext.Quote(r.table.Spec.Name)
	sets := []string{name + "." + sqltext.Quote(col.Name) + " = " + value}
	for _, touch := range t.Touch {
		if touch.OnUpdate {
			sets = append(sets, name+"."+sqltext.Quote(touch.Name)+" = "+name+"."+sqltext.Quote(touch.Name))
		}
	}
	_, err := r.folder.Do(ctx, "UPDATE "+t.Base()+slotsql.ForceKey(t)+" SET "+strings.Join(sets, ", ")+" WHERE "+slotsql.WhereAnyOrAll(t, keys, name))
	return err
}

// NoteOverrides notes that a statement has set derived counters, whatever their formulas say, until
// a recount has repaired them.
func (m *Maintainer) NoteOverrides(counters []string, text string) {
	for _, name := range counters {
		if _, known := m.overridden.LoadOrStore(name, true); !known {
			m.Warn("derived "+name, "countermysql: a statement sets a derived counter, which is not what its formula says until it is recounted", "counter", name, "statement", sqltext.Digest(text))
		}
	}
}

// Overridden reports whether a statement of this process has set a derived counter since then.
func (m *Maintainer) Overridden(t *catalog.Table, c *catalog.Column) bool {
	_, set := m.overridden.Load(t.FullName(c))
	return set
}
