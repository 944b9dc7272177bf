package catalog

import (
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// ChangedBy reports whether DDL may change what is known of the schema, and of which listed
// tables alone; nil: not of those alone. What it does to other tables changes nothing, be they
// like counter tables, filled from them or children of them.
func (s *Schema) ChangedBy(toks []sqltext.Token, text string) (tables []string, changed bool) {
	if s == nil {
		return nil, true
	}
	of, what := sqltext.Definition(toks)
	versions := slices.ContainsFunc(toks, func(t sqltext.Token) bool { return t.Kind == sqltext.Versioned })
	switch {
	case versions && toks[0].Is("DROP"):
		return nil, true
	case of == "TRIGGER" && toks[0].Is("DROP"): // which does not name the table
		return nil, true
	case of == "DATABASE" || of == "SCHEMA":
		return nil, !toks[0].Is("CREATE") && s.inDatabase(what)
	case !s.Mentions(text):
		return nil, false
	case versions:
		return nil, true
	case sqltext.RestartsNumbers(toks):
		return nil, false
	case toks[0].Is("TRUNCATE"): // a table without a key may have one row then
		return nil, slices.ContainsFunc(what, func(t sqltext.Token) bool {
			return slices.ContainsFunc(s.byName[strings.ToLower(t.Name)].Tables, func(t *Table) bool { return len(t.Key) == 0 })
		})
	case of == "TABLE" && toks[0].Is("CREATE"), of == "TABLE" && toks[0].Is("ALTER") && !sqltext.HasWord(what, "RENAME", "EXCHANGE", "CONVERT"):
		what = sqltext.TableNamed(what)
	case of != "TABLE" && of != "TABLES" && of != "INDEX":
		return nil, true
	}
	tables, changed = s.known(what, text)
	if toks[0].In(sqltext.MakesTables) || !slices.ContainsFunc(s.All(), func(t *Table) bool { return t.Parents != nil }) {
		return tables, changed
	}
	return nil, changed // what a foreign key refers to may have another name now
}

// DropsKnown reports whether DDL drops tables, by their names alone, all of which are counter
// tables in order.
func (s *Schema) DropsKnown(toks []sqltext.Token) bool {
	if len(toks) != 3 || !sqltext.WordAt(toks, 0, "DROP") || !sqltext.WordAt(toks, 1, "TABLE") {
		return false
	}
	named := s.byName[strings.ToLower(toks[2].Name)].Tables
	return len(named) > 0 && !slices.ContainsFunc(named, func(t *Table) bool { return len(t.Columns) == 0 || !Ready(t) })
}

// known are the tokens that are names of listed tables and slots tables, in whatever
// database, in lower case; nil if one is of what reaches them.
func (s *Schema) known(toks []sqltext.Token, text string) (names []string, some bool) {
	others := false
	for _, t := range toks {
		name, quoted := t.DoubleQuoted(text)
		if !quoted {
			name = t.Name
		}
		name = strings.ToLower(name)
		switch n, known := s.byName[name]; {
		case slices.ContainsFunc(s.Specs, func(spec Spec) bool { return spec.Has(name) }):
			names, others = append(names, name), others || len(n.via) > 0 || len(n.Unready) > 0
		case known:
			others = true
		}
	}
	if others {
		return nil, true
	}
	return names, names != nil
}

// Has reports whether the table or its slots table has that name.
func (t Spec) Has(name string) bool {
	return strings.EqualFold(t.Name, name) || strings.EqualFold(t.SlotsTable, name)
}

// inDatabase reports whether one of the tokens is the name of a database with a listed
// table, or with what reaches one.
func (s *Schema) inDatabase(toks []sqltext.Token) bool {
	return slices.ContainsFunc(toks, func(t sqltext.Token) bool {
		return slices.ContainsFunc(s.Specs, func(spec Spec) bool { return strings.EqualFold(spec.DB, t.Name) }) ||
			slices.ContainsFunc(s.Dependents, func(d Dependent) bool { return strings.EqualFold(d.DB, t.Name) })
	})
}
