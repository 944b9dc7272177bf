package maintain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/formula"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// derived looks at the triggers that keep derived counters.
func (k *inspection) derived(t *catalog.Table) {
	if k.err != nil || len(t.Spec.Derived) == 0 && !t.Fed {
		return
	}
	there, err := ownTriggers(k.ctx, k.in.Lookups, t)
	if err != nil {
		k.err = err
		return
	}
	fit := true
	var sources []*formula.Formula
	for _, c := range t.Counters {
		f := t.Spec.FormulaOf(c)
		if f == nil {
			continue
		}
		if !slices.ContainsFunc(sources, func(o *formula.Formula) bool { return o.DB == f.DB && o.Table == f.Table }) {
			sources = append(sources, f)
		}
		if k.in.Overridden(t, c) {
			k.warn(t.String(), "statements of this process set derived counter "+c.Name+", which then is not what its formula says", "leave it out of them (the log has one), and run countermysql recount --repair", "")
		}
		if k.err != nil {
			continue
		}
		var all []string
		if all, k.err = misfits(k.ctx, k.in.Lookups, k.in.Schema, t, c, f); mysqlerr.Number(k.err) != 0 {
			all, k.err = []string{fmt.Sprintf("its formula can't be read (%v); correct it, or what it reads", k.err)}, nil
		}
		for _, misfit := range all {
			problem, remedy, _ := strings.Cut(misfit, "; ")
			k.fail(t.String(), "derived counter "+c.Name+" is not kept: "+problem, remedy, "")
			fit = false
		}
	}
	if k.err != nil || !fit {
		return
	}
	wanted := t.Triggers()
	for _, g := range wanted {
		if !has(there, g) {
			k.fail(t.String(), fmt.Sprintf("the %s trigger of %s.%s that keeps its derived counters is missing, or is another, or the user may not see it", g.Event, g.DB, g.Table),
				"run countermysql init, which also sets the counters, or the statement and then countermysql recount --repair", g.Use()+"; "+g.Create())
		}
	}
	for i, g := range there {
		switch {
		case has(there[:i], g.Trigger):
			k.fail(t.String(), fmt.Sprintf("trigger %s.%s counts what another does, so that its derived counters count each row twice", g.DB, g.Name),
				"run countermysql init, which drops it and sets the counters", g.Drop())
		case !slices.ContainsFunc(wanted, func(w catalog.Trigger) bool { return g.isNamed(w) || g.is(w) }): // one with such a name has been told
			k.warn(t.String(), fmt.Sprintf("trigger %s.%s writes its slots, by a formula that is not configured here", g.DB, g.Name),
				"configure all processes alike, or drop it: countermysql init does", g.Drop())
		}
	}
	k.definers(t, there)
	for _, f := range sources {
		k.cascades(t, f)
	}
}

// definers finds triggers whose definer is no more: each write of their table fails (1449).
func (k *inspection) definers(t *catalog.Table, triggers []trigger) {
	seen := map[string]bool{}
	for _, g := range triggers {
		at := strings.LastIndexByte(g.definer, '@')
		if at < 0 || seen[g.definer] {
			continue
		}
		seen[g.definer] = true
		if rows, ok := k.try("SELECT 1 FROM mysql.user WHERE User = " + catalog.Text(g.definer[:at]) + " AND Host = " + catalog.Text(g.definer[at+1:])); ok && len(rows) == 0 {
			k.fail(t.String(), "trigger "+g.DB+"."+g.Name+" has the definer "+g.definer+", who is no more, so that every write of "+g.DB+"."+g.Table+" fails",
				"drop the triggers and run countermysql init as a user who stays", g.Drop())
		}
	}
}

// cascades tells of foreign keys by which rows of a formula's table go or change without its
// triggers, but for those that follow the counter's own row.
func (k *inspection) cascades(t *catalog.Table, f *formula.Formula) {
	rows := k.ask("SELECT CONSTRAINT_NAME, UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME, DELETE_RULE, UPDATE_RULE FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = " +
		catalog.Text(f.DB) + " AND TABLE_NAME = " + catalog.Text(f.Table))
	for _, r := range rows {
		silent := func(rule string) bool { return rule == "CASCADE" || rule == "SET NULL" || rule == "SET DEFAULT" }
		ofRow := strings.EqualFold(r[1], t.Spec.DB) && strings.EqualFold(r[2], t.Spec.Name)
		if ofRow || !silent(r[3]) && !silent(r[4]) {
			continue
		}
		k.warn(t.String(), fmt.Sprintf("foreign key %s of %s to %s.%s changes or deletes its rows, for which no trigger runs, so that derived counters stay what they were",
			r[0], sqltext.JoinName(f.DB, f.Table), r[1], r[2]), "make it RESTRICT and delete the rows first, or recount afterwards (countermysql recount --repair)", "")
	}
}
