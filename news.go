package countermysql

import (
	"context"
	"slices"
	"strings"
)

// changedBy reports whether DDL may change what is known of the schema. What it does to
// other tables does not, be they like counter tables, filled from them or children of them.
func (s *schema) changedBy(toks []token, text string) bool {
	if s == nil {
		return true
	}
	of, what := definition(toks)
	versions := slices.ContainsFunc(toks, func(t token) bool { return t.kind == tokVersion })
	switch {
	case versions && toks[0].is("DROP"):
		return true
	case of == "TRIGGER" && toks[0].is("DROP"): // which does not name the table
		return true
	case of == "DATABASE" || of == "SCHEMA":
		return !toks[0].is("CREATE") && s.inDatabase(what)
	case !s.mentions(text):
		return false
	case versions:
		return true
	case toks[0].is("TRUNCATE"): // a table without a key may have one row then
		return slices.ContainsFunc(what, func(t token) bool {
			return slices.ContainsFunc(s.byName[strings.ToLower(t.name)].tables, func(t *table) bool { return len(t.key) == 0 })
		})
	case of == "TABLE" && toks[0].is("CREATE"), of == "TABLE" && toks[0].is("ALTER") && !hasWord(what, "RENAME", "EXCHANGE", "CONVERT"):
		return s.knows(tableNamed(what), text)
	case of == "TABLE", of == "TABLES", of == "INDEX":
		return s.knows(what, text)
	}
	return true
}

// schemaFor is the schema that a text is planned by. To make and drop tables that are not
// listed the old one will do: who makes many does not have it read for each.
func (c *conn) schemaFor(ctx context.Context, text string) (*schema, error) {
	if s := c.connector.current.Load(); s != nil && c.connector.changed() && !s.mentions(text) {
		toks := tokenize(text, c.session.mode)
		of, what := definition(toks)
		if of == "TABLE" && toks[0].in(makesTables) && !hasWord(what, "SELECT", "LIKE", "TABLE", "WITH", "VALUES") && !s.changedBy(toks, text) {
			return s, nil
		}
	}
	return c.schema(ctx)
}

var makesTables = wordSet(`CREATE DROP`)

// definition is what kind of object DDL is about, in upper case, and the tokens behind
// that word. Of views, routines and the like it tells none: their bodies name all.
func definition(toks []token) (of string, what []token) {
	for i := 1; i < len(toks); i++ {
		switch word := strings.ToUpper(toks[i].name); {
		case toks[i].kind != tokWord:
			return "", nil
		case word == "TABLE", word == "TABLES", word == "INDEX", word == "DATABASE", word == "SCHEMA", word == "TRIGGER":
			return word, toks[i+1:]
		case toks[0].is("TRUNCATE"):
			return "TABLE", toks[i:]
		case !toks[i].in(beforeObject):
			return "", nil
		}
	}
	return "", nil
}

// beforeObject are the words that may stand between CREATE, ALTER or DROP and the kind
// of a table or index.
var beforeObject = wordSet(`OR REPLACE UNIQUE FULLTEXT SPATIAL VECTOR ONLINE OFFLINE IGNORE`)

// tableNamed are the tokens of the name that a list of tables begins with.
func tableNamed(toks []token) []token {
	for wordAt(toks, 0, "IF") || wordAt(toks, 0, "NOT") || wordAt(toks, 0, "EXISTS") {
		toks = toks[1:]
	}
	switch {
	case len(toks) > 0 && toks[0].punct('.'): // to MariaDB, .t is a table without a database
		return toks[:min(2, len(toks))]
	case len(toks) > 2 && toks[1].punct('.'):
		return toks[:3]
	}
	return toks[:min(1, len(toks))]
}

// knows reports whether one of the tokens is the name of a listed table, its slots table
// or what reaches one, in whatever database.
func (s *schema) knows(toks []token, text string) bool {
	return slices.ContainsFunc(toks, func(t token) bool {
		name, quoted := t.doubleQuoted(text)
		if !quoted {
			name = t.name
		}
		_, known := s.byName[strings.ToLower(name)]
		return known || slices.ContainsFunc(s.specs, func(spec tableSpec) bool {
			return strings.EqualFold(spec.name, name) || strings.EqualFold(spec.slotsTable, name)
		})
	})
}

// inDatabase reports whether one of the tokens is the name of a database with a listed
// table, or with what reaches one.
func (s *schema) inDatabase(toks []token) bool {
	return slices.ContainsFunc(toks, func(t token) bool {
		return slices.ContainsFunc(s.specs, func(spec tableSpec) bool { return strings.EqualFold(spec.db, t.name) }) ||
			slices.ContainsFunc(s.dependents, func(d dependent) bool { return strings.EqualFold(d.db, t.name) })
	})
}
