package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// Schema is what the driver knows of the server's schema at one moment.
// It is immutable: DDL makes a new one.
type Schema struct {
	Server     Server
	Specs      []Spec
	Tables     map[string]*Table // by key(db, name)
	Bare       map[string]*Table // those without any counter yet, there or not
	Dependents []Dependent
	byName     map[string]namesakes // tables and dependents by their names in lower case
	Names      *sqltext.NameSet     // a text that holds none of them is none of our business

	Absent      []string // listed columns that do not exist yet
	Unknown     []string // listed tables that do not exist yet, or not for the user
	Fingerprint string   // of all that was read
	Made        bool     // it counts as if missing slots tables had been made
}

// Dependent is an object through which a statement reaches counter tables
// without naming them: a view, a routine, a table with triggers, a parent.
type Dependent struct {
	DB, Name   string
	Kind       string // "view" or "routine"; "" for what has another's name
	Event      string // that a trigger is for: INSERT, UPDATE or DELETE
	Body       string
	Reads      bool // reading it is enough; else only a write to it counts
	ForeignKey bool // it only writes base rows, and only changesKey changes what a slot belongs to
	ChangesKey bool
	Column     string   // that a foreign key references
	Feeds      bool     // its triggers write slots of unnamed rows, and nothing else
	Columns    []string // an UPDATE that sets none of them changes no slot; nil: not known
	Tables     []*Table
	Bare       []*Table // without any counter yet
}

// Hidden reports whether the user may not see the definition, which may then name
// any counter table.
func (d Dependent) Hidden() bool { return d.Kind != "" && d.Body == "" }

// runsTexts reports whether a body of these words runs texts, which may name any table: by
// PREPARE, or MariaDB's EXECUTE IMMEDIATE.
func runsTexts(words map[string]bool) bool { return words["prepare"] || words["immediate"] }

// namesakes are all that have one name, in whatever database.
type namesakes struct {
	Tables  []*Table
	Bare    []*Table
	via     []Dependent
	Unready []Dependent // through which tables without any counter yet are reached
}

func (s *Schema) Key(db, name string) string { return s.Server.key(db, name) }

// Lookup resolves a table name as the server does.
func (s *Schema) Lookup(db, name, defaultDB string) *Table {
	return s.Tables[s.Key(cmp.Or(db, defaultDB), name)]
}

// Now is a table of an older schema as this one has it, or as it was where it is none of
// this one's.
func (s *Schema) Now(old *Table) *Table {
	if t := s.Lookup(old.Spec.DB, old.Spec.Name, ""); t != nil {
		return t
	}
	return old
}

// Closure keeps the objects whose body reaches a counter table, directly or
// through another such object.
func (s *Schema) Closure(all []Dependent) []Dependent {
	var found []Dependent
	words := make([]map[string]bool, len(all))
	for i, d := range all {
		words[i] = sqltext.Identifiers(d.Body)
	}
	for changed := true; changed; {
		changed = false
		for i := range all {
			d := &all[i]
			tables := s.reached(*d, words[i], found)
			if d.Hidden() || d.Kind == "routine" && runsTexts(words[i]) {
				tables = s.ready()
			}
			if len(tables) > len(d.Tables) {
				d.Tables, changed = tables, true
				found = slices.DeleteFunc(found, func(f Dependent) bool {
					return f.DB == d.DB && f.Name == d.Name && f.Reads == d.Reads && f.Event == d.Event && f.Body == d.Body
				})
				found = append(found, *d)
			}
		}
	}
	return append(found, cascading(all, words)...)
}

// cascading are the parents of counter tables, and what reaches one: a view of it,
// and a routine or trigger that may change a key of it.
func cascading(all []Dependent, words []map[string]bool) []Dependent {
	var found []Dependent
	for _, d := range all {
		if d.ForeignKey {
			found = append(found, d)
		}
	}
	seen := map[string]bool{}
	for at := 0; at < len(found); at++ { // found grows
		parent := found[at]
		for i, d := range all {
			if d.ForeignKey || !d.names(words[i], parent.DB, parent.Name) {
				continue
			}
			rows := parent.ForeignKey // a table or a view: to name it is not yet to write it
			if d.Kind != "view" && (!parent.ChangesKey || rows && !words[i]["update"] && !words[i]["replace"]) {
				continue
			}
			id := fmt.Sprintf("%q%q%q%s%t", d.DB, d.Name, d.Kind, parent.Tables[0], parent.ChangesKey)
			if seen[id] {
				continue
			}
			seen[id] = true
			found = append(found, Dependent{DB: d.DB, Name: d.Name, Kind: d.Kind, Body: d.Body, Tables: parent.Tables,
				Reads: d.Kind == "routine", ForeignKey: d.Kind == "view" && rows, ChangesKey: parent.ChangesKey})
		}
	}
	return found
}

// names reports whether the words of its body may name an object of the database. What
// says no database is of the body's own: a view's definition says it always, and routines
// and triggers run in theirs
// (https://dev.mysql.com/doc/refman/8.4/en/stored-routines-syntax.html).
func (d Dependent) names(words map[string]bool, db, name string) bool {
	return words[strings.ToLower(name)] && (strings.EqualFold(d.DB, db) || words[strings.ToLower(db)])
}

// reached lists the counter tables that d, whose body has the words, names.
func (s *Schema) reached(d Dependent, words map[string]bool, via []Dependent) []*Table {
	var tables []*Table
	add := func(more ...*Table) {
		for _, t := range more {
			if !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
	}
	for _, t := range s.Tables {
		if d.names(words, t.Spec.DB, t.Spec.Name) {
			add(t)
		}
	}
	for _, through := range via {
		if d.names(words, through.DB, through.Name) {
			add(through.Tables...)
		}
	}
	return tables
}

// Index prepares mentions and reach.
func (s *Schema) Index() {
	all := map[string]bool{}
	add := func(name string) {
		for _, quoted := range sqltext.Quotings(name) {
			all[quoted] = true
		}
	}
	for _, spec := range s.Specs {
		add(spec.Name)
		add(spec.SlotsTable)
	}
	s.byName = map[string]namesakes{}
	note := func(name string, add func(n *namesakes)) {
		name = strings.ToLower(name)
		n := s.byName[name]
		add(&n)
		s.byName[name] = n
	}
	for _, d := range s.Dependents {
		add(d.Name)
		note(d.Name, func(n *namesakes) {
			if len(d.Tables) > 0 {
				n.via = append(n.via, d)
			}
			if len(d.Bare) > 0 {
				n.Unready = append(n.Unready, d)
			}
		})
	}
	for _, t := range s.All() {
		note(t.Spec.Name, func(n *namesakes) { n.Tables = append(n.Tables, t) })
	}
	for _, t := range InOrder(s.Bare) {
		note(t.Spec.Name, func(n *namesakes) { n.Bare = append(n.Bare, t) })
	}
	s.Names = sqltext.NewNameSet(all)
}

// Mentions reports whether the text could concern a counter table. It looks
// for the names as plain text, so that no quoting or comment can hide one.
func (s *Schema) Mentions(text string) bool { return s.Names.In(strings.ToLower(text)) }

// Reach lists the counter tables and dependents that the tokens name.
func (s *Schema) Reach(toks []sqltext.Token, text string) (tables []*Table, via []Dependent) {
	n := s.Meant(toks, text)
	return n.Tables, n.via
}

// Meant is all that the tokens name.
func (s *Schema) Meant(toks []sqltext.Token, text string) (all namesakes) {
	found := map[string]bool{}
	for _, t := range toks {
		switch {
		case t.Ident():
			name := strings.ToLower(t.Name)
			if _, ours := s.byName[name]; ours {
				found[name] = true
			}
		case t.Kind == sqltext.Versioned, t.Kind == sqltext.String:
			within := strings.ToLower(text[t.Start:t.End])
			if !s.Names.In(within) {
				continue
			}
			for name := range s.byName {
				if strings.Contains(within, name) {
					found[name] = true
				}
			}
		}
	}
	for _, name := range sqltext.SortedKeys(found) {
		n := s.byName[name]
		all.Tables, all.Bare = append(all.Tables, n.Tables...), append(all.Bare, n.Bare...)
		all.via, all.Unready = append(all.via, n.via...), append(all.Unready, n.Unready...)
	}
	return all
}

// ready lists the tables that can be rolled up, in order.
func (s *Schema) ready() []*Table {
	return slices.DeleteFunc(s.All(), func(t *Table) bool { return len(t.Counters) == 0 || !Ready(t) })
}

// Degraded are the tables that go on without new slots, by their names, and why.
func (s *Schema) Degraded() map[string][]string {
	all := map[string][]string{}
	for _, t := range s.Tables {
		if t.Degraded != nil && t.Unfit == nil {
			all[t.String()] = slices.Clone(t.Degraded)
		}
	}
	return all
}

// Unfit are the tables whose statements fail, and why: they can't have counters, or lack a slots
// table that fits.
func (s *Schema) Unfit() map[string][]string {
	all := map[string][]string{}
	for _, t := range s.Tables {
		switch {
		case t.Unfit != nil:
			all[t.String()] = slices.Clone(t.Unfit)
		case t.Missing != "" && len(t.Counters) > 0:
			all[t.String()] = []string{"its slots table " + t.Spec.SlotsTable + " is missing or does not fit; run countermysql init"}
		}
	}
	return all
}

// All lists the counter tables in order.
func (s *Schema) All() []*Table { return InOrder(s.Tables) }

func InOrder(tables map[string]*Table) (all []*Table) {
	for _, key := range sqltext.SortedKeys(tables) {
		all = append(all, tables[key])
	}
	return all
}

// setBare sets the tables apart that have no counter yet: they are not there, or their
// columns are not.
func (s *Schema) setBare() {
	s.Bare = map[string]*Table{}
	for key, t := range s.Tables {
		if len(t.Counters) == 0 && t.Unfit == nil {
			s.Bare[key] = t
			delete(s.Tables, key)
		}
	}
	for _, d := range s.Dependents { // a listed name may be that of a view of another listed table, which has been renamed
		t := s.Lookup(d.DB, d.Name, "")
		if others := func(o *Table) bool { return o != t && o.Unfit == nil }; t != nil && d.Kind == "view" && slices.ContainsFunc(d.Tables, others) {
			delete(s.Tables, s.Key(d.DB, d.Name))
			for i := range s.Dependents {
				d := &s.Dependents[i]
				d.Tables = slices.DeleteFunc(slices.Clone(d.Tables), func(o *Table) bool { return o == t })
			}
		}
	}
	for i := range s.Dependents {
		d := &s.Dependents[i]
		isBare := func(t *Table) bool { return s.Bare[s.Key(t.Spec.DB, t.Spec.Name)] == t }
		d.Bare = slices.DeleteFunc(slices.Clone(d.Tables), func(t *Table) bool { return !isBare(t) })
		d.Tables = slices.DeleteFunc(slices.Clone(d.Tables), isBare)
	}
}
