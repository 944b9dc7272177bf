package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// namespace is what the names of a statement mean in a schema.
type namespace struct {
	*statement
	schema *catalog.Schema
	db     string // default database
	alias  string // of the row that an upsert inserts: VALUES (…) AS alias
}

// lookup is the counter table of a name; nil: it is another one's.
func (ns *namespace) lookup(name *ast.TableName) *catalog.Table {
	return ns.schema.Lookup(name.Schema.O, name.Name.O, ns.db)
}

// target returns the counter table that a table source names, or nil.
func (ns *namespace) target(source *ast.TableSource) *catalog.Table {
	return ns.lookup(source.Source.(*ast.TableName))
}

// means reports whether a column's qualifier, if it has one, is the table that
// the statement calls name. Aliases have the case that table names have.
func (ns *namespace) means(qualifier, name string) bool {
	return qualifier == "" || qualifier == name || ns.server.FoldNames && strings.EqualFold(qualifier, name)
}

// aliased reports whether a column could be the inserted row's as well: the server
// refuses it.
func (ns *namespace) aliased(ref *ast.ColumnName) bool {
	return ns.alias != "" && (ref.Table.O == "" || ns.means(ref.Table.O, ns.alias))
}

// resolve lists the counter tables that the statement's table names mean, and
// the names of its common table expressions.
func (ns *namespace) resolve(stmt ast.Node) (tables []*catalog.Table, ctes []string) {
	every(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TableName:
			if t := ns.lookup(n); t != nil {
				tables = with(tables, t)
			}
		case *ast.CommonTableExpression:
			ctes = append(ctes, n.Name.O)
		}
		return true
	})
	catalog.SortTables(tables)
	return tables, ctes
}

// countTables counts the places where the statement's FROM clauses name counter tables.
func (ns *namespace) countTables(stmt ast.Node) int {
	n := 0
	one := func(t *ast.TableName) int {
		if ns.lookup(t) != nil {
			return 1
		}
		return 0
	}
	every(stmt, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.TableName:
			n += one(node)
		case *ast.SelectStmt:
			if node.LockInfo != nil {
				for _, t := range node.LockInfo.Tables {
					n -= one(t) // FOR UPDATE OF t, which is visited too
				}
			}
		}
		return true
	})
	if insert, ok := stmt.(*ast.InsertStmt); ok && insert.Table != nil {
		if source := singleTable(insert.Table); source != nil && ns.target(source) != nil {
			n-- // the table that is written
		}
	}
	return n
}

// sources are all of a statement, those of its subqueries too.
func (ns *namespace) sources(stmt ast.Node) (all []source) {
	every(stmt, func(n ast.Node) bool {
		if s, ok := n.(*ast.TableSource); ok {
			all = append(all, ns.sourceOf(s))
		}
		return true
	})
	return all
}

// joined are the tables that a FROM clause itself joins.
func (ns *namespace) joined(refs *ast.TableRefsClause) (all []source) {
	var add func(ast.ResultSetNode)
	add = func(n ast.ResultSetNode) {
		switch n := n.(type) {
		case *ast.Join:
			add(n.Left)
			if n.Right != nil {
				add(n.Right)
			}
		case *ast.TableSource:
			all = append(all, ns.sourceOf(n))
		}
	}
	add(refs.TableRefs)
	return all
}

// setIn is the joined table that a column which is set belongs to. Where it does not say
// so, and several have it, the server refuses the statement.
func (ns *namespace) setIn(c *ast.ColumnName, from []source) source {
	i := slices.IndexFunc(from, func(s source) bool {
		if c.Table.O == "" {
			return s.t != nil && s.t.Column(c.Name.O) != nil
		}
		return ns.means(c.Table.O, s.name)
	})
	if i < 0 {
		return source{}
	}
	return from[i]
}

// deletesFrom are the counter tables that a DELETE takes rows from.
func (ns *namespace) deletesFrom(stmt *ast.DeleteStmt) (tables []*catalog.Table) {
	for _, s := range ns.joined(stmt.TableRefs) {
		if s.t != nil && (stmt.Tables == nil || slices.ContainsFunc(stmt.Tables.Tables, func(n *ast.TableName) bool { return strings.EqualFold(n.Name.O, s.name) })) {
			tables = with(tables, s.t)
		}
	}
	return tables
}

// countersRead are the tables among those that the statement names of which parts of it
// may read counters or touch columns: by name, by a wildcard, by NATURAL. A column that
// does not say its table may be of any.
func (ns *namespace) countersRead(stmt ast.Node, named []*catalog.Table, parts ...ast.Node) (read []*catalog.Table) {
	all := ns.sources(stmt)
	for _, part := range parts {
		if isNil(part) {
			continue
		}
		every(part, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ColumnName:
				read = with(read, slices.DeleteFunc(slices.Clone(named), func(t *catalog.Table) bool { return !t.Virtual(n.Name.O) || !ns.mayBeOf(n, t, all) })...)
			case *ast.Join:
				if n.NaturalJoin {
					read = slices.Clone(named)
				}
			case *ast.SelectStmt:
				if n.From != nil && (n.Kind == ast.SelectStmtKindTable || wild(n)) {
					from, _ := ns.resolve(n.From)
					read = with(read, from...)
				}
			}
			return true
		})
	}
	catalog.SortTables(read)
	return read
}

// mayBeOf reports whether a column may be one of t.
func (ns *namespace) mayBeOf(c *ast.ColumnName, t *catalog.Table, all []source) bool {
	known := false
	for _, s := range all {
		if c.Table.O == "" || !ns.means(c.Table.O, s.name) {
			continue
		}
		if known = true; s.t == t {
			return true
		}
	}
	return !known
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
