package countermysql

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema is what the driver knows of the server's schema at one moment.
// It is immutable: DDL makes a new one.
type schema struct {
	server     server
	specs      []tableSpec
	tables     map[string]*table // by key(db, name)
	bare       map[string]*table // those without any counter yet, there or not
	dependents []dependent
	byName     map[string]namesakes // tables and dependents by their names in lower case
	names      *names               // a text that holds none of them is none of our business
	plans      *planCache

	absent      []string // listed columns that do not exist yet
	unknown     []string // listed tables that do not exist yet, or not for the user
	fingerprint string   // of all that was read
}

// dependent is an object through which a statement reaches counter tables
// without naming them: a view, a routine, a table with triggers, a parent.
type dependent struct {
	db, name   string
	kind       string // "view" or "routine"; "" for what has another's name
	event      string // that a trigger is for: INSERT, UPDATE or DELETE
	body       string
	reads      bool // reading it is enough; else only a write to it counts
	foreignKey bool // it only writes base rows, and only changesKey changes what a slot belongs to
	changesKey bool
	column     string // that a foreign key references
	tables     []*table
	bare       []*table // without any counter yet
}

// hidden reports whether the user may not see the definition, which may then name
// any counter table.
func (d dependent) hidden() bool { return d.kind != "" && d.body == "" }

// namesakes are all that have one name, in whatever database.
type namesakes struct {
	tables  []*table
	bare    []*table
	via     []dependent
	unready []dependent // through which tables without any counter yet are reached
}

func (s *schema) key(db, name string) string {
	if s.server.foldNames {
		db, name = strings.ToLower(db), strings.ToLower(name)
	}
	return db + "\x00" + name
}

// leftOut are the listed tables and columns that do not exist: mistakes, perhaps.
func (s *schema) leftOut() []Finding {
	var all []Finding
	for _, name := range s.unknown {
		all = append(all, Finding{Failure, name, "it does not exist, or the user may not see it", "create it, correct the list of counters, or grant SELECT on it", ""})
	}
	for _, name := range s.absent {
		dot := strings.LastIndexByte(name, '.')
		all = append(all, Finding{Failure, name[:dot], "it has no column " + name[dot+1:], "add it, or correct the list of counters", ""})
	}
	return all
}

// complete is an error where something listed does not exist: who works on all that is
// listed is told what is left out.
func (s *schema) complete() error {
	var errs []error
	for _, f := range s.leftOut() {
		errs = append(errs, &ConfigError{Place: "table " + f.Table, Problem: f.Problem, Remedy: f.Remedy})
	}
	return errors.Join(errs...)
}

// lookup resolves a table name as the server does.
func (s *schema) lookup(db, name, defaultDB string) *table {
	if db == "" {
		db = defaultDB
	}
	return s.tables[s.key(db, name)]
}

// closure keeps the objects whose body reaches a counter table, directly or
// through another such object.
func (s *schema) closure(all []dependent) []dependent {
	var found []dependent
	words := make([]map[string]bool, len(all))
	for i, d := range all {
		words[i] = identifiers(d.body)
	}
	for changed := true; changed; {
		changed = false
		for i := range all {
			d := &all[i]
			tables := s.reached(words[i], found)
			if d.hidden() {
				tables = s.ready()
			}
			if len(tables) > len(d.tables) {
				d.tables, changed = tables, true
				found = slices.DeleteFunc(found, func(f dependent) bool {
					return f.db == d.db && f.name == d.name && f.reads == d.reads && f.event == d.event && f.body == d.body
				})
				found = append(found, *d)
			}
		}
	}
	return append(found, cascading(all, words)...)
}

// cascading are the parents of counter tables, and what reaches one: a view of it,
// and a routine or trigger that may change a key of it.
func cascading(all []dependent, words []map[string]bool) []dependent {
	var found []dependent
	for _, d := range all {
		if d.foreignKey {
			found = append(found, d)
		}
	}
	seen := map[string]bool{}
	for at := 0; at < len(found); at++ { // found grows
		parent := found[at]
		for i, d := range all {
			if d.foreignKey || !words[i][strings.ToLower(parent.name)] {
				continue
			}
			rows := parent.foreignKey // a table or a view: to name it is not yet to write it
			if d.kind != "view" && (!parent.changesKey || rows && !words[i]["update"] && !words[i]["replace"]) {
				continue
			}
			id := fmt.Sprintf("%q%q%q%s%t", d.db, d.name, d.kind, parent.tables[0], parent.changesKey)
			if seen[id] {
				continue
			}
			seen[id] = true
			found = append(found, dependent{db: d.db, name: d.name, kind: d.kind, body: d.body, tables: parent.tables,
				reads: d.kind == "routine", foreignKey: d.kind == "view" && rows, changesKey: parent.changesKey})
		}
	}
	return found
}

// reached lists the counter tables that the words of a body name. Names alone
// decide: a body is read in its author's default database, which may not be ours.
func (s *schema) reached(words map[string]bool, via []dependent) []*table {
	var tables []*table
	add := func(more ...*table) {
		for _, t := range more {
			if !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
	}
	for _, t := range s.tables {
		if words[strings.ToLower(t.spec.name)] {
			add(t)
		}
	}
	for _, d := range via {
		if words[strings.ToLower(d.name)] {
			add(d.tables...)
		}
	}
	return tables
}

// index prepares mentions and reach.
func (s *schema) index() {
	all := map[string]bool{}
	add := func(name string) {
		for _, quoted := range quotings(name) {
			all[quoted] = true
		}
	}
	for _, spec := range s.specs {
		add(spec.name)
		add(spec.slotsTable)
	}
	s.byName = map[string]namesakes{}
	for _, d := range s.dependents {
		add(d.name)
		name := strings.ToLower(d.name)
		n := s.byName[name]
		if len(d.tables) > 0 {
			n.via = append(n.via, d)
		}
		if len(d.bare) > 0 {
			n.unready = append(n.unready, d)
		}
		s.byName[name] = n
	}
	for _, t := range s.all() {
		name := strings.ToLower(t.spec.name)
		n := s.byName[name]
		n.tables = append(n.tables, t)
		s.byName[name] = n
	}
	for _, t := range inOrder(s.bare) {
		name := strings.ToLower(t.spec.name)
		n := s.byName[name]
		n.bare = append(n.bare, t)
		s.byName[name] = n
	}
	s.names = newNames(all)
}

// mentions reports whether the text could concern a counter table. It looks
// for the names as plain text, so that no quoting or comment can hide one.
func (s *schema) mentions(text string) bool { return s.names.in(strings.ToLower(text)) }

// reach lists the counter tables and dependents that the tokens name.
func (s *schema) reach(toks []token, text string) (tables []*table, via []dependent) {
	n := s.meant(toks, text)
	return n.tables, n.via
}

// meant is all that the tokens name.
func (s *schema) meant(toks []token, text string) (all namesakes) {
	found := map[string]bool{}
	for _, t := range toks {
		switch {
		case t.ident():
			name := strings.ToLower(t.name)
			if _, ours := s.byName[name]; ours {
				found[name] = true
			}
		case t.kind == tokVersion, t.kind == tokString:
			within := strings.ToLower(text[t.start:t.end])
			if !s.names.in(within) {
				continue
			}
			for name := range s.byName {
				if strings.Contains(within, name) {
					found[name] = true
				}
			}
		}
	}
	for _, name := range sortedKeys(found) {
		n := s.byName[name]
		all.tables, all.bare = append(all.tables, n.tables...), append(all.bare, n.bare...)
		all.via, all.unready = append(all.via, n.via...), append(all.unready, n.unready...)
	}
	return all
}

// without is the schema of a session that can't see some of the tables.
func (s *schema) without(hidden map[string]bool) *schema {
	less := *s
	less.plans = newPlanCache()
	less.tables = maps.Clone(s.tables)
	less.bare = maps.Clone(s.bare)
	for _, tables := range []map[string]*table{less.tables, less.bare} {
		maps.DeleteFunc(tables, func(_ string, t *table) bool { return hidden[t.String()] })
	}
	less.index()
	return &less
}

// ready lists the tables that can be rolled up, in order.
func (s *schema) ready() []*table {
	return slices.DeleteFunc(s.all(), func(t *table) bool { return len(t.counters) == 0 || t.unfit != nil || t.missing != "" })
}

// degraded are the tables that go on without new slots, by their names, and why.
func (s *schema) degraded() map[string][]string {
	all := map[string][]string{}
	for _, t := range s.tables {
		if t.degraded != nil && t.unfit == nil {
			all[t.String()] = slices.Clone(t.degraded)
		}
	}
	return all
}

// all lists the counter tables in order.
func (s *schema) all() []*table { return inOrder(s.tables) }

func inOrder(tables map[string]*table) (all []*table) {
	for _, key := range sortedKeys(tables) {
		all = append(all, tables[key])
	}
	return all
}

// setBare sets the tables apart that have no counter yet: they are not there, or their
// columns are not.
func (s *schema) setBare() {
	s.bare = map[string]*table{}
	for key, t := range s.tables {
		if len(t.counters) == 0 && t.unfit == nil {
			s.bare[key] = t
			delete(s.tables, key)
		}
	}
	for _, d := range s.dependents { // a listed name may be that of a view of another listed table, which has been renamed
		t := s.lookup(d.db, d.name, "")
		if others := func(o *table) bool { return o != t && o.unfit == nil }; t != nil && d.kind == "view" && slices.ContainsFunc(d.tables, others) {
			delete(s.tables, s.key(d.db, d.name))
			for i := range s.dependents {
				d := &s.dependents[i]
				d.tables = slices.DeleteFunc(slices.Clone(d.tables), func(o *table) bool { return o == t })
			}
		}
	}
	for i := range s.dependents {
		d := &s.dependents[i]
		isBare := func(t *table) bool { return s.bare[s.key(t.spec.db, t.spec.name)] == t }
		d.bare = slices.DeleteFunc(slices.Clone(d.tables), func(t *table) bool { return !isBare(t) })
		d.tables = slices.DeleteFunc(slices.Clone(d.tables), isBare)
	}
}
