package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// mentions reports whether a name outside strings, or one that is all of a string in double
// quotes, as under ANSI_QUOTES, means what has that name in a database; "": in any.
func (ns *namespace) mentions(db, name string) bool {
	means := func(i int, in string) bool {
		return db == "" || ns.schema.Key(in, ns.toks[i].Name) == ns.schema.Key(db, name)
	}
	for i, t := range ns.toks {
		bare := i > 1 && ns.toks[i-2].End < ns.toks[i-1].Start // to MariaDB, FROM .t may be a table without a database
		quoted, isQuoted := t.DoubleQuoted(ns.text)
		switch {
		case t.Kind == sqltext.Versioned,
			t.Ident() && strings.EqualFold(t.Name, name) && (means(i, ns.databaseOf(i)) || bare && means(i, ns.db)),
			isQuoted && strings.EqualFold(quoted, name):
			return true
		}
	}
	return false
}

// databaseOf is the database of the table that token i names.
func (ns *namespace) databaseOf(i int) string {
	if i > 1 && ns.toks[i-1].Punct('.') && ns.toks[i-2].Ident() {
		return ns.toks[i-2].Name
	}
	return ns.db
}

// namedTables keeps the tables whose names, and not only those of tables in
// other databases, stand outside strings.
func (ns *namespace) namedTables(tables []*catalog.Table) []*catalog.Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t *catalog.Table) bool {
		for i, tok := range ns.toks {
			if tok.Kind == sqltext.Versioned || tok.Ident() && ns.schema.Key(ns.databaseOf(i), tok.Name) == ns.schema.Key(t.Spec.DB, t.Spec.Name) {
				return false
			}
		}
		return true
	})
}

// outsideStrings keeps the tables and dependents that a name outside strings means.
func (ns *namespace) outsideStrings(tables []*catalog.Table, via []catalog.Dependent) ([]*catalog.Table, []catalog.Dependent) {
	tables = slices.DeleteFunc(slices.Clone(tables), func(t *catalog.Table) bool { return !ns.mentions(t.Spec.DB, t.Spec.Name) })
	return tables, slices.DeleteFunc(slices.Clone(via), func(d catalog.Dependent) bool {
		if d.Kind == "routine" { // whose name may be found in other databases too, and has any case
			return !ns.mentions("", d.Name)
		}
		return !ns.mentions(d.DB, d.Name)
	})
}

// fullNames are the tokens of each db.table.column of a counter table.
func (ns *namespace) fullNames() (all [][]sqltext.Token) {
	for i := 0; i+4 < len(ns.toks); i++ {
		t := ns.toks[i : i+5]
		if t[0].Ident() && t[1].Punct('.') && t[2].Ident() && t[3].Punct('.') && ns.schema.Lookup(t[0].Name, t[2].Name, "") != nil {
			all = append(all, t)
		}
	}
	return all
}

// namesakes reports whether db.table.column names a counter table while the
// statement gives another table the same name: only the database tells them apart.
func (rw rewriter) namesakes(stmt ast.Node) bool {
	full := rw.fullNames()
	return full != nil && some(stmt, func(source *ast.TableSource) bool {
		name, of := source.AsName.O, (*catalog.Table)(nil)
		if table, ok := source.Source.(*ast.TableName); ok {
			name, of = nameOf(source), rw.lookup(table)
		}
		return slices.ContainsFunc(full, func(t []sqltext.Token) bool {
			return strings.EqualFold(t[2].Name, name) && rw.schema.Lookup(t[0].Name, t[2].Name, "") != of
		})
	})
}
