package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// A statement that reads no counter of the counter tables that it names finds all that it
// reads in their base rows, and needs none of their slots.

// source is what a FROM clause calls name; t is nil for anything but a counter table.
type source struct {
	t    *catalog.Table
	name string
}

// sources are all of a statement, those of its subqueries too.
func (a *analyzer) sources(stmt ast.Node) (all []source) {
	every(stmt, func(n ast.Node) bool {
		if s, ok := n.(*ast.TableSource); ok {
			all = append(all, a.sourceOf(s))
		}
		return true
	})
	return all
}

func (a *analyzer) sourceOf(s *ast.TableSource) source {
	if _, ok := s.Source.(*ast.TableName); ok {
		return source{a.target(s), nameOf(s)}
	}
	return source{name: s.AsName.O} // a derived table, or joins in parentheses
}

// countersRead are the tables among those that the statement names of which parts of it
// may read counters or touch columns: by name, by a wildcard, by NATURAL. A column that
// does not say its table may be of any.
func (a *analyzer) countersRead(stmt ast.Node, named []*catalog.Table, parts ...ast.Node) (read []*catalog.Table) {
	all := a.sources(stmt)
	reads := func(t *catalog.Table) {
		if !slices.Contains(read, t) {
			read = append(read, t)
		}
	}
	column := func(c *ast.ColumnName) {
		for _, t := range named {
			if t.Virtual(c.Name.O) && a.mayBeOf(c, t, all) {
				reads(t)
			}
		}
	}
	for _, part := range parts {
		if isNil(part) {
			continue
		}
		every(part, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ColumnName:
				column(n)
			case *ast.Join:
				if n.NaturalJoin {
					read = slices.Clone(named)
				}
			case *ast.SelectStmt:
				if n.From != nil && (n.Kind == ast.SelectStmtKindTable || wild(n)) {
					for _, s := range a.sources(n.From) {
						if s.t != nil {
							reads(s.t)
						}
					}
				}
			}
			return true
		})
	}
	catalog.SortTables(read)
	return read
}

// mayBeOf reports whether a column may be one of t.
func (a *analyzer) mayBeOf(c *ast.ColumnName, t *catalog.Table, all []source) bool {
	known := false
	for _, s := range all {
		if c.Table.O == "" || !a.means(c.Table.O, s.name) {
			continue
		}
		if known = true; s.t == t {
			return true
		}
	}
	return !known
}

// wild reports whether a select list has a wildcard.
func wild(s *ast.SelectStmt) bool {
	return s.Fields == nil || slices.ContainsFunc(s.Fields.Fields, func(f *ast.SelectField) bool { return f.WildCard != nil })
}

// with adds tables to others.
func with(tables []*catalog.Table, more ...*catalog.Table) []*catalog.Table {
	tables = slices.Clone(tables)
	for _, t := range more {
		if !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
	}
	return tables
}
