package maintain

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/lookups"
)

// historyOf asks what a history table lacks, as [catalog.HistoryDDL.Fit] says it.
func historyOf(ctx context.Context, pool *lookups.Pool, q catalog.HistoryDDL) (ddl, why string, err error) {
	columns, comment := q.Of()
	rows, err := pool.Query(ctx, columns)
	if err != nil {
		return "", "", err
	}
	said, err := pool.Query(ctx, comment)
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

// makeHistory is MakeTriggers for the history of a table.
func (m *Maintainer) makeHistory(ctx context.Context, t *catalog.Table, dry bool) (statements []string, err error) {
	if t.Spec.History.Every == 0 || t.Unfit != nil || len(t.Counters) == 0 {
		return nil, nil
	}
	ddl, why, err := historyOf(ctx, m.Shared.Lookups, t.HistoryDDL())
	switch {
	case err != nil:
		return nil, err
	case why != "":
		return nil, errors.New(why + "; rename that, or choose another name: history: {table: …}")
	case ddl != "":
		statements = append(statements, ddl)
	}
	if !t.HistoryIsConfigured() {
		drops, err := m.dropHistoryTriggers(ctx, t)
		if err != nil {
			return nil, err
		}
		statements = append(statements, historyTriggers(t, drops)...)
	}
	if dry || statements == nil {
		return statements, nil
	}
	return statements, m.runDDL(ctx, statements)
}

// historyTriggers are the statements that make the triggers, and those that drop the ones that are there
// by then: nobody writes between the old and the new. The mode is the triggers' own: in a strict one
// they could refuse what the application may write.
func historyTriggers(t *catalog.Table, drops []string) []string {
	q := t.HistoryDDL()
	create := func(how string) []string { return []string{q.Trigger(how, "INSERT"), q.Trigger(how, "UPDATE")} }
	stmts := create("CREATE")
	switch {
	case t.History == (catalog.HistoryState{}):
	case t.Galera: // nobody else can be kept out: see [session.Session.DropEmpty]
		stmts = create("CREATE OR REPLACE")
		for _, drop := range drops {
			if drop != q.DropTrigger("INSERT") && drop != q.DropTrigger("UPDATE") { // of another history
				stmts = append(stmts, drop)
			}
		}
	default:
		stmts = slices.Concat([]string{"LOCK TABLES " + t.Base() + " WRITE"}, drops, stmts, []string{"UNLOCK TABLES"})
	}
	return inMode("", append([]string{catalog.Use(t.Spec.DB)}, stmts...)...)
}

// dropHistoryTriggers are the statements that drop those which there are, or may be, under any name.
func (m *Maintainer) dropHistoryTriggers(ctx context.Context, t *catalog.Table) (stmts []string, err error) {
	add := func(drop string) {
		if !slices.Contains(stmts, drop) {
			stmts = append(stmts, drop)
		}
	}
	for _, q := range []catalog.HistoryDDL{t.WrittenDDL(), t.HistoryDDL()} {
		for _, event := range []string{"INSERT", "UPDATE"} {
			if q.Named() {
				add(q.DropTrigger(event))
			}
		}
	}
	there, err := m.Shared.Lookups.Query(ctx, triggersOn(t))
	for _, g := range triggersOf(there) {
		if h, _ := catalog.WrittenHistory(g.Body); h != "" && (h == t.History.Table || h == t.Spec.History.Table) {
			add(g.Drop())
		}
	}
	return stmts, err
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
	if k.err != nil {
		return
	}
	q := t.HistoryDDL()
	ddl, why, err := historyOf(k.ctx, k.in.Lookups, q)
	if err != nil {
		k.err = err
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
	if problem := t.History.Problem(spec); problem != "" {
		k.warn(name, problem, "run countermysql init", "")
	}
	k.definers(t, slices.DeleteFunc(triggersOf(k.ask(triggersOn(t))), func(g trigger) bool { return !t.IsForHistory(g.Name, g.Body) }))
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
		begun := time.Now()
		gone, err := r.folder.Do(ctx, r.table.WrittenDDL().Old(forgetting))
		r.folder.Stats.Forgotten.Add(gone)
		if err != nil || gone < forgetting {
			return err
		}
		if err := r.rest(ctx, begun, forgetRest, nil); err != nil {
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
