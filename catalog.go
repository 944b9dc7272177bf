package countermysql

import (
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
	dependents []dependent
	names      []string // lower case; a text that holds none of them is none of our business
	plans      *planCache

	absent      []string // listed columns that do not exist yet
	fingerprint string   // of all that was read
}

// dependent is an object through which a statement reaches counter tables
// without naming them: a view, a routine, a table with triggers, a parent.
type dependent struct {
	db, name   string
	kind       string // "view" or "routine"; "" for what has another's name
	body       string
	reads      bool // reading it is enough; else only a write to it counts
	foreignKey bool // it only writes base rows, and only changesKey changes what a slot belongs to
	changesKey bool
	tables     []*table
}

func (s *schema) key(db, name string) string {
	if s.server.foldNames {
		db, name = strings.ToLower(db), strings.ToLower(name)
	}
	return db + "\x00" + name
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
	for changed := true; changed; {
		changed = false
		for i := range all {
			d := &all[i]
			if d.body == "" {
				continue
			}
			tables := s.reached(d.body, found)
			if len(tables) > len(d.tables) {
				d.tables, changed = tables, true
				found = slices.DeleteFunc(found, func(f dependent) bool { return f.db == d.db && f.name == d.name && f.reads == d.reads })
				found = append(found, *d)
			}
		}
	}
	for _, d := range all {
		if d.foreignKey {
			found = append(found, d)
		}
	}
	return found
}

// reached lists the counter tables that a body names. Names alone decide: a
// body is read in its author's default database, which may not be ours.
func (s *schema) reached(body string, via []dependent) []*table {
	var tables []*table
	add := func(more ...*table) {
		for _, t := range more {
			if !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
	}
	for _, t := range s.tables {
		if mentionsWord(body, t.spec.name) {
			add(t)
		}
	}
	for _, d := range via {
		if mentionsWord(body, d.name) {
			add(d.tables...)
		}
	}
	return tables
}

// index prepares mentions.
func (s *schema) index() {
	add := func(name string) {
		name = strings.ToLower(name)
		if !slices.Contains(s.names, name) {
			s.names = append(s.names, name)
		}
	}
	for _, spec := range s.specs {
		for _, name := range []string{spec.name, spec.slotsTable} {
			add(name)
			add(strings.ReplaceAll(name, "`", "``")) // as it stands between quotes
			add(strings.ReplaceAll(name, `"`, `""`))
		}
	}
	for _, d := range s.dependents {
		add(d.name)
		add(strings.ReplaceAll(d.name, "`", "``"))
		add(strings.ReplaceAll(d.name, `"`, `""`))
	}
}

// mentions reports whether the text could concern a counter table. It looks
// for the names as plain text, so that no quoting or comment can hide one.
func (s *schema) mentions(text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(s.names, func(name string) bool { return strings.Contains(lower, name) })
}

// reach lists the counter tables and dependents that the tokens name.
func (s *schema) reach(toks []token, text string) (tables []*table, via []dependent) {
	named := func(name string) bool {
		return slices.ContainsFunc(toks, func(t token) bool {
			return t.ident() && strings.EqualFold(t.name, name) ||
				(t.kind == tokVersion || t.kind == tokString) && strings.Contains(strings.ToLower(text[t.start:t.end]), strings.ToLower(name))
		})
	}
	for _, key := range sortedKeys(s.tables) {
		if t := s.tables[key]; named(t.spec.name) {
			tables = append(tables, t)
		}
	}
	for _, d := range s.dependents {
		if named(d.name) {
			via = append(via, d)
		}
	}
	return tables, via
}

// without is the schema of a session that can't see some of the tables.
func (s *schema) without(hidden map[string]bool) *schema {
	less := *s
	less.plans = newPlanCache()
	less.tables = maps.Clone(s.tables)
	maps.DeleteFunc(less.tables, func(_ string, t *table) bool { return hidden[t.String()] })
	return &less
}

// all lists the counter tables in order.
func (s *schema) all() []*table {
	var tables []*table
	for _, key := range sortedKeys(s.tables) {
		tables = append(tables, s.tables[key])
	}
	return tables
}
