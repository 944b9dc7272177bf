package maintain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/formula"
	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// derive is MakeTriggers for derived counters.
func (m *Maintainer) derive(ctx context.Context, s *catalog.Schema, dry bool) (statements []string, err error) {
	var kept []*catalog.Table
	for _, t := range s.All() {
		if len(t.Spec.Derived) == 0 || t.Unfit != nil || t.Missing != "" && !dry {
			continue // which is an error of its own
		}
		for _, c := range t.Counters {
			f := t.Spec.FormulaOf(c)
			if f == nil {
				continue
			}
			misfits, err := misfits(ctx, m.Shared.Lookups, s, t, c, f)
			if err != nil {
				return statements, err
			}
			for _, misfit := range misfits {
				return statements, fmt.Errorf("countermysql: derived counter %s: %s", t.FullName(c), misfit)
			}
		}
		stmts, err := triggersToChange(ctx, m.Shared.Lookups, t)
		if err != nil {
			return statements, err
		}
		statements = append(statements, stmts...)
		if kept = append(kept, t); dry || len(stmts) == 0 {
			continue
		}
		if err := m.runDDL(ctx, stmts); err != nil {
			return statements, fmt.Errorf("countermysql: the triggers of %s: %w", t, err)
		}
	}
	if dry || kept == nil {
		return statements, nil
	}
	// All transactions that have written a source without the triggers are over by now:
	// CREATE TRIGGER has waited for them. So what differs now is what was before. Of triggers
	// that were there nobody knows whether the counters have been set, too.
	if s, err = m.Shared.Watcher.Refresh(ctx); err != nil {
		return statements, err
	}
	for _, t := range kept {
		drifts, err := m.recountTable(ctx, s.Now(t), RecountOptions{Repair: true, derived: true})
		if left := slices.DeleteFunc(drifts, func(d Drift) bool { return d.Repaired }); err == nil && len(left) > 0 {
			err = fmt.Errorf("%d values could not be set, as others lock the rows, row %s first; run it again when they are done", len(left), left[0].Key)
		}
		if err != nil {
			return statements, fmt.Errorf("countermysql: setting the derived counters of %s: %w", t, err)
		}
	}
	return statements, nil
}

// misfits are the reasons why a counter can't be derived by a formula, each with a remedy.
func misfits(ctx context.Context, pool *lookups.Pool, s *catalog.Schema, t *catalog.Table, c *catalog.Column, f *formula.Formula) (all []string, err error) {
	source := sqltext.JoinName(f.DB, f.Table)
	if len(f.Key) != len(t.Key) || len(t.Key) == 0 {
		return []string{fmt.Sprintf("its formula groups by %d columns, and the table's key is (%s); group by a column for each, in that order", len(f.Key), strings.Join(catalog.QuoteNames(t.Key), ", "))}, nil
	}
	if c.Nullable {
		all = append(all, "it may be NULL, and a NULL counts nothing; make it NOT NULL")
	}
	rows, err := pool.Query(ctx, "SELECT COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME FROM information_schema.COLUMNS WHERE "+catalog.OfTable(f.DB, f.Table))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return append(all, "its formula's table "+source+" is missing, or the user may not see it; make it, or grant SELECT on it"), nil
	}
	find := func(name string) []string {
		i := slices.IndexFunc(rows, func(r []string) bool { return strings.EqualFold(r[0], name) })
		if i < 0 {
			return nil
		}
		return rows[i]
	}
	counted := s.Lookup(f.DB, f.Table, "")
	for _, name := range f.Columns {
		computed := slices.ContainsFunc(f.Computed, func(c string) bool { return strings.EqualFold(c, name) })
		switch {
		case find(name) == nil:
			all = append(all, "its formula's table "+source+" has no column "+name+"; correct the formula")
		case counted != nil && counted.Virtual(name):
			all = append(all, "its formula reads "+name+", which is a counter or touch column itself; leave it out")
		case computed && strings.HasPrefix(find(name)[1], "timestamp"):
			all = append(all, "its formula reads "+name+", a TIMESTAMP, which is another time in each session's time zone; make it a DATETIME, or ask only whether it IS NULL")
		}
	}
	engines, err := pool.Query(ctx, "SELECT ENGINE FROM information_schema.TABLES WHERE "+catalog.OfTable(f.DB, f.Table)+" AND ENGINE IN (SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS <> 'YES')")
	if err != nil {
		return nil, err
	}
	for _, r := range engines {
		all = append(all, fmt.Sprintf("its formula's table %s has the engine %s, whose rows stay where a transaction is rolled back, and what the trigger has counted does not; convert it with ALTER TABLE %s ENGINE=InnoDB", source, r[0], source))
	}
	for i, name := range f.Key {
		if k, r := t.Key[i], find(name); r != nil && (r[1] != k.ColumnType || r[2] != k.Collation) {
			all = append(all, fmt.Sprintf("its formula's column %s.%s is %s, and the key column %s %s; give both one type and collation", source, name, strings.TrimSpace(r[1]+" "+r[2]), k.Name, strings.TrimSpace(k.ColumnType+" "+k.Collation)))
		}
	}
	if all != nil {
		return all, nil
	}
	return mistyped(ctx, pool, c, f)
}

// mistyped tells of a formula that may fail a write, or whose sum the counter can't hold digit
// by digit.
func mistyped(ctx context.Context, pool *lookups.Pool, c *catalog.Column, f *formula.Formula) ([]string, error) {
	names, _, err := columnTypes(ctx, pool, f.TypesQuery())
	if err != nil {
		return nil, err
	}
	if problem := f.Mistyped(names); problem != "" {
		return []string{problem}, nil
	}
	if !f.IsSum {
		return nil, nil
	}
	names, scales, err := columnTypes(ctx, pool, f.Query()+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	if sum := len(names) - 1; names[sum] != "DECIMAL" || scales[sum] > c.Fraction() {
		return []string{fmt.Sprintf("its formula's sum is a %s, whose digits %s can't hold; sum up integers, or DECIMALs with no more digits behind the point", names[sum], c.ColumnType)}, nil
	}
	return nil, nil
}

// columnTypes are those of a query's columns, with the digits behind a DECIMAL's point.
func columnTypes(ctx context.Context, pool *lookups.Pool, query string) (names []string, scales []int, err error) {
	if query == "" {
		return nil, nil, nil
	}
	db, err := pool.DB()
	if err != nil {
		return nil, nil, err
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, nil, err
	}
	for _, t := range types {
		_, scale, _ := t.DecimalSize()
		names, scales = append(names, t.DatabaseTypeName()), append(scales, int(scale))
	}
	return names, scales, rows.Err()
}

// ownTriggers are those of ours that write the slots of a table, or have the name of one that
// is to, as the server has them.
func ownTriggers(ctx context.Context, pool *lookups.Pool, t *catalog.Table) ([]trigger, error) {
	rows, err := pool.Query(ctx, triggersSQL+catalog.OwnTriggers+" ORDER BY TRIGGER_SCHEMA, TRIGGER_NAME")
	wanted := t.Triggers()
	there := slices.DeleteFunc(triggersOf(rows), func(g trigger) bool {
		return !catalog.Feeds(t, g.DB, g.Body) && !slices.ContainsFunc(wanted, g.isNamed)
	})
	for i, g := range there {
		if err != nil || !catalog.ShownOtherwise(g.Name, g.Body) {
			continue
		}
		var original [][]string
		if original, err = pool.Query(ctx, "SHOW CREATE TRIGGER "+sqltext.Qualified(g.DB, g.Name)); len(original) == 1 {
			there[i].Body = catalog.TriggerBody(original[0][2])
		}
	}
	return there, err
}

// triggersToChange are the statements that make the triggers of a table what they are to be.
func triggersToChange(ctx context.Context, pool *lookups.Pool, t *catalog.Table) (stmts []string, err error) {
	there, err := ownTriggers(ctx, pool, t)
	if err != nil {
		return nil, err
	}
	wanted := t.Triggers()
	for i, g := range there {
		if !slices.ContainsFunc(wanted, g.is) || has(there[:i], g.Trigger) {
			stmts = append(stmts, g.Drop())
		}
	}
	in := ""
	for _, g := range wanted {
		if has(there, g) {
			continue
		}
		if g.DB != in {
			in, stmts = g.DB, append(stmts, g.Use())
		}
		stmts = append(stmts, g.Create())
	}
	if stmts == nil {
		return nil, nil
	}
	return inMode("STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION", stmts...), nil
}

// has reports whether there is a trigger that does what one is to do.
func has(there []trigger, wanted catalog.Trigger) bool {
	wanted.Body = strings.TrimSpace(wanted.Body)
	return slices.ContainsFunc(there, func(g trigger) bool { return g.is(wanted) })
}

// dropTriggers ends what keeps the derived counters of a table.
func (m *Maintainer) dropTriggers(ctx context.Context, t *catalog.Table) error {
	there, err := ownTriggers(ctx, m.Shared.Lookups, t)
	if err != nil || len(there) == 0 {
		return err
	}
	var stmts []string
	for _, g := range there {
		stmts = append(stmts, g.Drop())
	}
	if err := m.runDDL(ctx, stmts); err != nil {
		return fmt.Errorf("countermysql: dropping the triggers of %s: %w", t, err)
	}
	return nil
}
