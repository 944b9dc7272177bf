package maintain

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/lookups"
	"github.com/countermysql/countermysql/internal/mysqlerr"
)

// historyOf asks what a history table lacks, as [catalog.HistoryDDL.Fit] says it.
func historyOf(q catalog.HistoryDDL, ask func(query string) ([][]string, error)) (ddl, why string, err error) {
	columns, comment := q.Of()
	rows, err := ask(columns)
	if err != nil {
		return "", "", err
	}
	said, err := ask(comment)
	if err != nil {
		return "", "", err
	}
	if len(said) > 0 {
		ddl, why = q.Fit(rows, said[0][0])
	} else {
		ddl, why = q.Fit(nil, "")
	}
	return ddl, why, nil
}

// history makes the history table of a table, and the triggers that write it.
func (i *initialization) history(ctx context.Context, t *catalog.Table) {
	if t.Spec.History.Every == 0 || t.Unfit != nil || len(t.Counters) == 0 {
		return
	}
	failed := func(err error) { i.errs = append(i.errs, fmt.Errorf("countermysql: the history of %s: %w", t, err)) }
	q := t.HistoryDDL()
	ddl, why, err := historyOf(q, func(query string) ([][]string, error) { return i.lookups.Query(ctx, query) })
	switch {
	case err != nil:
		failed(err)
		return
	case why != "":
		failed(errors.New(why + "; rename that, or choose another name: history: {table: …}"))
		return
	case ddl != "":
		i.statements = append(i.statements, ddl)
		if !i.dry {
			if err := i.lookups.Exec(ctx, ddl); err != nil {
				failed(err)
				return
			}
		}
	}
	if t.HistoryIsConfigured() {
		return
	}
	triggers := historyTriggers(t)
	i.statements = append(i.statements, triggers...)
	if !i.dry {
		if err := runInNoMode(ctx, i.lookups, triggers); err != nil {
			failed(err)
		}
	}
}

// historyTriggers are the statements that make the triggers. Where there are some already,
// nobody writes between the old and the new. The mode is the triggers' own: in a strict one
// they could refuse what the application may write.
func historyTriggers(t *catalog.Table) []string {
	q, stmts := t.HistoryDDL(), []string{"SET SESSION sql_mode = ''"}
	replaces := t.History != (catalog.HistoryState{})
	if replaces {
		stmts = append(stmts, "LOCK TABLES "+t.Base()+" WRITE")
		stmts = append(stmts, dropHistoryTriggers(t)...)
	}
	stmts = append(stmts, q.Trigger("INSERT"), q.Trigger("UPDATE"))
	if replaces {
		stmts = append(stmts, "UNLOCK TABLES")
	}
	return stmts
}

// dropHistoryTriggers are the statements that drop those which there are, or may be.
func dropHistoryTriggers(t *catalog.Table) (stmts []string) {
	for _, q := range []catalog.HistoryDDL{t.WrittenDDL(), t.HistoryDDL()} {
		for _, event := range []string{"INSERT", "UPDATE"} {
			if drop := q.DropTrigger(event); q.Named() && !slices.Contains(stmts, drop) {
				stmts = append(stmts, drop)
			}
		}
	}
	return stmts
}

// runInNoMode runs statements on a connection that nobody else gets.
func runInNoMode(ctx context.Context, pool *lookups.Pool, stmts []string) error {
	look, err := pool.DB()
	if err != nil {
		return err
	}
	conn, err := look.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	for _, stmt := range stmts {
		if _, err := conn.ExecContext(ctx, stmt); mysqlerr.Number(err) == mysqlerr.ErrNeedsSuper {
			return fmt.Errorf("%w: the server has a binary log, and lets only users with SUPER make triggers; have such a user run countermysql init, or, by an administrator: SET GLOBAL log_bin_trust_function_creators = 1", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// history looks at the history of a table.
func (k *inspection) history(t *catalog.Table) {
	name, spec := t.String(), t.Spec.History
	if spec.Every == 0 {
		if t.History.Updates {
			k.warn(name, "its triggers write the history "+t.History.Table+", which is not in this configuration, so that nothing of it is ever removed", "list history for the table, or drop the triggers "+t.History.Table+catalog.HistoryInsert+" and "+t.History.Table+catalog.HistoryUpdate, "")
		}
		return
	}
	q := t.HistoryDDL()
	ddl, why, err := historyOf(q, func(query string) ([][]string, error) {
		rows := k.ask(query)
		return rows, k.err
	})
	if err != nil {
		return
	}
	found := k.warn
	if t.History.Table == spec.Table || t.History.Outdated {
		found = k.fail // the triggers are there, and what they are for is not
	}
	switch {
	case why != "":
		found(name, why, "rename that, or choose another name: history: {table: …}", "")
	case ddl == q.Create():
		found(name, "its history table "+spec.Table+" is missing, or the user may not see it", "run countermysql init, or the statement", ddl)
	case ddl != "":
		found(name, "its history table "+spec.Table+" does not fit", "run countermysql init, or the statement", ddl)
	}
	const initialize = "run countermysql init"
	switch {
	case t.HistoryIsConfigured():
	case t.History.Outdated:
		k.warn(name, "its triggers "+spec.Table+catalog.HistoryInsert+" and "+spec.Table+catalog.HistoryUpdate+" write a history of other counters, or were changed", initialize, "")
	case t.History.Whole():
		k.warn(name, fmt.Sprintf("its triggers write the history %s in intervals of %s, and not %s of %s, as is configured", t.History.Table, t.History.Every, spec.Table, spec.Every), initialize, "")
	default:
		k.warn(name, "a trigger that writes its history is missing, or the user may not see it, so that changes are missing in "+spec.Table, initialize, "")
	}
	k.definers(t, k.ask("SELECT EVENT_OBJECT_SCHEMA, TRIGGER_NAME, EVENT_OBJECT_TABLE, EVENT_MANIPULATION, ACTION_STATEMENT, DEFINER FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = "+catalog.Text(t.Spec.DB)+
		" AND EVENT_OBJECT_TABLE = "+catalog.Text(t.Spec.Name)+" AND TRIGGER_NAME IN ("+catalog.Text(spec.Table+catalog.HistoryInsert)+", "+catalog.Text(spec.Table+catalog.HistoryUpdate)+")"))
	if spec.Keep > 0 && ddl == "" && why == "" {
		k.mayDo(t, []need{{"SELECT", q.Name(), "SELECT * FROM " + q.Name()}, {"DELETE", q.Name(), "DELETE FROM " + q.Name() + " WHERE FALSE"}})
	}
}

// forgetting is how many intervals go in one statement.
const forgetting = 1000

// forget removes what a history has kept for long enough.
func (r *rollup) forget(ctx context.Context) error {
	if !r.table.Forgets() {
		return nil
	}
	for {
		gone, err := r.folder.Do(ctx, r.table.WrittenDDL().Old(forgetting))
		if err != nil || gone < forgetting {
			return err
		}
	}
}

// hasOld reports whether a history has something to forget. An error is the rollup's to tell,
// when there is something to roll up.
func (b *Background) hasOld(ctx context.Context, t *catalog.Table) bool {
	if !t.Forgets() {
		return false
	}
	rows, err := b.Shared.Lookups.Query(ctx, t.WrittenDDL().HasOld())
	return err == nil && len(rows) > 0
}

// dropHistories drops the triggers that write histories, which stay.
func (m *Maintainer) dropHistories(ctx context.Context, tables []*catalog.Table, options DropOptions) error {
	for _, t := range tables {
		if t.History == (catalog.HistoryState{}) || options.StopOnly {
			continue
		}
		for _, stmt := range dropHistoryTriggers(t) {
			if err := m.Shared.Lookups.Exec(ctx, stmt); err != nil {
				return fmt.Errorf("countermysql: leaving %s, its history: %w", t, err)
			}
		}
	}
	return nil
}
