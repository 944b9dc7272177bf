package countermysql

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// ambiguous reports whether ORDER BY or HAVING names table.counter while an alias
// has the counter's name: for a column, but not for a view's expression, MySQL
// then means the column. Or GROUP BY, or a window on MySQL, names it. Or any of them
// names what the select list has twice.
func (a *analysis) ambiguous(stmt ast.Node, named []*table) bool {
	virtual := func(name string) bool {
		return slices.ContainsFunc(named, func(t *table) bool { return t.virtual(name) })
	}
	return !every(stmt, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectStmt)
		if !ok || s.Fields == nil {
			return true
		}
		var aliases []string
		for _, f := range s.Fields.Fields {
			isColumn := false
			if f.Expr != nil {
				name, is := columnRef(f.Expr)
				isColumn = is && strings.EqualFold(name.Name.O, f.AsName.O)
			}
			if f.AsName.O != "" && !isColumn && virtual(f.AsName.O) {
				aliases = append(aliases, f.AsName.L)
			}
		}
		qualified := func(n ast.Node) bool {
			return !every(n, func(n ast.Node) bool {
				c, ok := n.(*ast.ColumnName)
				return !ok || c.Table.O == "" || !slices.Contains(aliases, c.Name.L)
			})
		}
		aliased := func(name string) bool { // for a counter
			return slices.ContainsFunc(s.Fields.Fields, func(f *ast.SelectField) bool {
				c, ok := columnRef(f.Expr)
				return ok && f.AsName.L == name && virtual(c.Name.O)
			})
		}
		if twice := slices.DeleteFunc(repeated(a.listed(s)), func(name string) bool { return !virtual(name) && !aliased(name) || oneColumn(s, name) }); len(twice) > 0 {
			if s.Having != nil {
				return false // HAVING sees columns in one way, and expressions of their names in another
			}
			bare := func(n ast.Node) bool {
				c, ok := n.(*ast.ColumnName)
				return !ok || c.Table.O != "" || !slices.Contains(twice, c.Name.L)
			}
			if s.OrderBy != nil && !every(s.OrderBy, bare) || s.GroupBy != nil && !every(s.GroupBy, bare) {
				return false // two columns of this name may be an error, two expressions are not
			}
		}
		if s.GroupBy != nil && !every(s.GroupBy, func(n ast.Node) bool {
			c, ok := n.(*ast.ColumnName)
			return !ok || !slices.Contains(aliases, c.Name.L)
		}) {
			return false // GROUP BY means the column before the alias, but not before a view's expression
		}
		if aliases != nil && !a.schema.server.mariaDB && !every(s, func(n ast.Node) bool {
			w, ok := n.(*ast.WindowSpec)
			return !ok || !slices.ContainsFunc(windowItems(w), func(item *ast.ByItem) bool {
				c, ok := columnRef(item.Expr)
				return ok && slices.Contains(aliases, c.Name.L)
			})
		}) {
			return false // as GROUP BY
		}
		return aliases == nil || (s.OrderBy == nil || !qualified(s.OrderBy)) && (s.Having == nil || !qualified(s.Having))
	})
}

// oneColumn reports whether all of a select list that bears the name is one column,
// of the only table: then it may be called by its name.
func oneColumn(s *ast.SelectStmt, name string) bool {
	return singleTable(s.From) != nil && !slices.ContainsFunc(s.Fields.Fields, func(f *ast.SelectField) bool {
		c, ok := columnRef(f.Expr)
		return f.WildCard != nil || f.AsName.L == name && !(ok && c.Name.L == name)
	})
}

func windowItems(w *ast.WindowSpec) (items []*ast.ByItem) {
	if w.PartitionBy != nil {
		items = append(items, w.PartitionBy.Items...)
	}
	if w.OrderBy != nil {
		items = append(items, w.OrderBy.Items...)
	}
	return items
}

// assignsInOrder reports whether a select list assigns variables in a query with
// ORDER BY: the servers sort by a column first, and by a view's expression only
// what the select list has computed.
func assignsInOrder(stmt ast.Node) bool {
	return !every(stmt, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectStmt)
		return !ok || s.OrderBy == nil || s.Fields == nil || every(s.Fields, func(n ast.Node) bool {
			v, ok := n.(*ast.VariableExpr)
			return !ok || v.Value == nil
		})
	})
}

// repeated are the names that a list has more than once.
func repeated(list []string) []string {
	var more []string
	for i, name := range list {
		if name != "" && slices.Contains(list[:i], name) {
			more = append(more, name)
		}
	}
	return more
}

// listed are the names of a select list, in lower case. A wildcard has counters only:
// the columns of other tables are not known, and those of a derived table are columns
// on both sides.
func (a *analysis) listed(s *ast.SelectStmt) []string {
	var names []string
	for _, f := range s.Fields.Fields {
		switch c, ok := columnRef(f.Expr); {
		case f.WildCard != nil && !a.schema.server.mariaDB: // which takes the alias before any column
			names = append(names, a.wildcard(f.WildCard.Table.O, s)...)
		case f.WildCard == nil && f.AsName.L == "" && ok:
			names = append(names, c.Name.L)
		default:
			names = append(names, f.AsName.L)
		}
	}
	return names
}

// wildcard are the names of the counters in * or table.* of a query.
func (a *analysis) wildcard(qualifier string, s *ast.SelectStmt) (names []string) {
	if s.From == nil {
		return nil
	}
	var join func(ast.ResultSetNode)
	join = func(n ast.ResultSetNode) {
		switch n := n.(type) {
		case *ast.Join:
			join(n.Left)
			join(n.Right)
		case *ast.TableSource:
			switch source := n.Source.(type) {
			case *ast.Join:
				join(source)
			case *ast.TableName:
				if t := a.target(n); t != nil && a.means(qualifier, nameOf(n)) {
					for _, c := range slices.Concat(t.counters, t.touch) {
						names = append(names, strings.ToLower(c.name))
					}
				}
			}
		}
	}
	join(s.From.TableRefs)
	return names
}

// fullNames are the tokens of each db.table.column of a counter table.
func (a *analysis) fullNames() (all [][]token) {
	for i := 0; i+4 < len(a.toks); i++ {
		t := a.toks[i : i+5]
		if t[0].ident() && t[1].punct('.') && t[2].ident() && t[3].punct('.') && a.schema.lookup(t[0].name, t[2].name, "") != nil {
			all = append(all, t)
		}
	}
	return all
}

// namesakes reports whether db.table.column names a counter table while the
// statement gives another table the same name: only the database tells them apart.
func (a *analysis) namesakes(stmt ast.Node) bool {
	full := a.fullNames()
	return full != nil && !every(stmt, func(n ast.Node) bool {
		source, ok := n.(*ast.TableSource)
		if !ok {
			return true
		}
		name, of := source.AsName.O, (*table)(nil)
		if table, ok := source.Source.(*ast.TableName); ok {
			name, of = nameOf(source), a.schema.lookup(table.Schema.O, table.Name.O, a.db)
		}
		return !slices.ContainsFunc(full, func(t []token) bool {
			return strings.EqualFold(t[2].name, name) && a.schema.lookup(t[0].name, t[2].name, "") != of
		})
	})
}
