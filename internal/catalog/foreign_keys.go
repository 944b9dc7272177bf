package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// acts reports whether a rule of a foreign key writes the row that has it.
func acts(rule string) bool { return rule != "RESTRICT" && rule != "NO ACTION" }

// referencing is a column of a table with the foreign key that it is in.
type referencing struct {
	db, table, column string
	ForeignKey
}

// foreignKeysOf reads the foreign keys of tables of a database. The servers would open
// every table of it to join the two.
func (l *loader) foreignKeysOf(ctx context.Context, db string, names []string) (found []referencing) {
	constraint := func(table, name string) string { return strings.ToLower(table + "\x00" + name) }
	rules := map[string]ForeignKey{}
	l.ofTables(ctx, db, names, rulesSQL, func(v []string) {
		rules[constraint(v[1], v[2])] = ForeignKey{changesKey: acts(v[4]), Cascades: acts(v[3]) || acts(v[4])}
	})
	if len(rules) == 0 {
		return nil
	}
	l.ofTables(ctx, db, names, referencesSQL, func(v []string) {
		if rule, ok := rules[constraint(v[1], v[2])]; ok {
			rule.ParentDB, rule.Parent, rule.column = v[4], v[5], v[6]
			found = append(found, referencing{v[0], v[1], v[3], rule})
		}
	})
	return found
}

// foreignKeys reads those of the tables, and of their parents.
func (l *loader) foreignKeys(ctx context.Context) {
	names := map[string][]string{}
	for _, key := range sqltext.SortedKeys(l.tables) {
		t := l.tables[key]
		create, known := l.told.To(showCreate)[key]
		if len(t.Columns) > 0 && (!known || strings.Contains(create[0][1], "FOREIGN KEY")) {
			names[t.Spec.DB] = append(names[t.Spec.DB], t.Spec.Name)
		}
	}
	for _, db := range sqltext.SortedKeys(names) {
		for _, fk := range l.foreignKeysOf(ctx, db, names[db]) {
			if t := l.find(fk.db, fk.table); t != nil {
				fk.changesKey = fk.changesKey && t.Changes(t.Key, fk.column)
				t.Parents = append(t.Parents, fk.ForeignKey)
			}
		}
	}
	for _, key := range sqltext.SortedKeys(l.tables) {
		l.ancestors(ctx, l.tables[key])
	}
}

// ancestors adds the parents of parents: a cascade goes on from table to table.
func (l *loader) ancestors(ctx context.Context, t *Table) {
	for i := 0; i < len(t.Parents); i++ {
		child := t.Parents[i]
		if !child.Cascades {
			continue
		}
		for _, fk := range l.foreignKeysOf(ctx, child.ParentDB, []string{child.Parent}) {
			fk.changesKey = fk.changesKey && child.changesKey
			if !slices.Contains(t.Parents, fk.ForeignKey) {
				t.Parents = append(t.Parents, fk.ForeignKey)
			}
		}
	}
}

// dependents finds the views, routines, triggers and parents through which a
// statement can reach a counter table without naming it.
func (l *loader) dependents(ctx context.Context, s *Schema) []Dependent {
	var all []Dependent
	l.others = true
	if l.objects.read(ctx, l); l.err != nil {
		return nil
	}
	for _, v := range l.objects.views {
		all = append(all, Dependent{DB: v[0], Name: v[1], Kind: "view", Body: v[2], Reads: true})
	}
	for _, v := range l.objects.routines {
		all = append(all, Dependent{DB: v[0], Name: v[1], Kind: "routine", Body: v[2], Reads: true})
	}
	feeders, own := l.feeders()
	all = l.readTriggers(all, own)
	for _, key := range sqltext.SortedKeys(s.Tables) {
		t := s.Tables[key]
		for _, fk := range t.Parents {
			if fk.Cascades {
				all = append(all, Dependent{DB: fk.ParentDB, Name: fk.Parent, Tables: []*Table{t}, ForeignKey: true, ChangesKey: fk.changesKey, Column: fk.column})
			}
		}
	}
	all = append(s.Closure(all), feeding(feeders, all)...)
	for _, d := range all {
		fmt.Fprintf(&l.seen, "%q%q%q%q%q%q%t%q", d.DB, d.Name, d.Kind, d.Event, d.Column, d.Body, d.Feeds, d.Columns)
	}
	for _, key := range sqltext.SortedKeys(s.Tables) {
		t := s.Tables[key]
		fmt.Fprint(&l.seen, l.kind(t), t.Closed, t.InsertTriggers, t.DeleteTriggers, t.MakesKeys, t.Fed, t.History, t.Unkept, t.Unfit, t.Degraded)
	}
	return all
}
