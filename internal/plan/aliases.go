package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// aliasShadowsCounter reports whether ORDER BY or HAVING names table.counter while an alias
// has the counter's name: for a column, but not for a view's expression, MySQL
// then means the column. Or GROUP BY, or a window on MySQL, names it. Or any of them
// names what the select list has twice. Or table.column, while the select list calls
// another column so, whose table it does not say: of a merged view, MySQL takes that one.
func (rw rewriter) aliasShadowsCounter(stmt ast.Node) bool {
	virtual := func(name string) bool {
		return slices.ContainsFunc(rw.named, func(t *catalog.Table) bool { return t.Virtual(name) })
	}
	return some(stmt, func(s *ast.SelectStmt) bool { return s.Fields != nil && rw.shadowsIn(s, virtual) })
}

// shadowsIn is aliasShadowsCounter for one SELECT; virtual tells the names of counters.
func (rw rewriter) shadowsIn(s *ast.SelectStmt, virtual func(name string) bool) bool {
	if twice := rw.namedTwice(s, virtual); len(twice) > 0 {
		bare := func(c *ast.ColumnName) bool { return c.Table.O == "" && slices.Contains(twice, c.Name.L) }
		switch {
		case s.Having != nil:
			return true // HAVING sees columns in one way, and expressions of their names in another
		case s.OrderBy != nil && some(s.OrderBy, bare), s.GroupBy != nil && some(s.GroupBy, bare):
			return true // two columns of this name may be an error, two expressions are not
		}
	}
	if called := renamed(s); !rw.server.MariaDB && called != nil {
		qualified := func(c *ast.ColumnName) bool { return c.Table.O != "" && slices.Contains(called, c.Name.L) }
		if s.OrderBy != nil && some(s.OrderBy, qualified) || s.GroupBy != nil && some(s.GroupBy, qualified) || s.Having != nil && some(s.Having, qualified) ||
			some(s, func(w *ast.WindowSpec) bool { return some(w, qualified) }) {
			return true
		}
	}
	aliases := counterAliases(s, virtual)
	if aliases == nil {
		return false
	}
	aliased := func(c *ast.ColumnName) bool { return slices.Contains(aliases, c.Name.L) }
	qualified := func(c *ast.ColumnName) bool { return c.Table.O != "" && aliased(c) }
	window := func(w *ast.WindowSpec) bool {
		return slices.ContainsFunc(windowItems(w), func(item *ast.ByItem) bool {
			c, ok := columnRef(item.Expr)
			return ok && aliased(c)
		})
	}
	switch {
	case s.GroupBy != nil && some(s.GroupBy, aliased), !rw.server.MariaDB && some(s, window):
		return true // they mean the column before the alias, but not before a view's expression
	case s.OrderBy != nil && some(s.OrderBy, qualified), s.Having != nil && some(s.Having, qualified):
		return true
	}
	return false
}

// renamed are the other names that a select list gives to columns whose table it does
// not say, in lower case.
func renamed(s *ast.SelectStmt) (aliases []string) {
	for _, f := range s.Fields.Fields {
		if c, ok := columnRef(f.Expr); ok && f.AsName.L != "" && c.Table.O == "" && c.Name.L != f.AsName.L {
			aliases = append(aliases, f.AsName.L)
		}
	}
	return aliases
}

// counterAliases are the aliases with a counter's name that are not for the column of
// that name itself, in lower case.
func counterAliases(s *ast.SelectStmt, virtual func(name string) bool) (aliases []string) {
	for _, f := range s.Fields.Fields {
		if f.AsName.O == "" || !virtual(f.AsName.O) {
			continue
		}
		if f.Expr != nil {
			if c, ok := columnRef(f.Expr); ok && strings.EqualFold(c.Name.O, f.AsName.O) {
				continue
			}
		}
		aliases = append(aliases, f.AsName.L)
	}
	return aliases
}

// namedTwice are the names that the select list has more than once, of counters or for one.
func (rw rewriter) namedTwice(s *ast.SelectStmt, virtual func(name string) bool) []string {
	return slices.DeleteFunc(repeated(rw.listed(s)), func(name string) bool {
		return oneColumn(s, name) || !virtual(name) && !slices.ContainsFunc(s.Fields.Fields, func(f *ast.SelectField) bool {
			c, ok := columnRef(f.Expr)
			return ok && f.AsName.L == name && virtual(c.Name.O)
		})
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
	return some(stmt, func(s *ast.SelectStmt) bool {
		return s.OrderBy != nil && s.Fields != nil && some(s.Fields, func(v *ast.VariableExpr) bool { return v.Value != nil })
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
func (rw rewriter) listed(s *ast.SelectStmt) []string {
	var names []string
	for _, f := range s.Fields.Fields {
		switch c, ok := columnRef(f.Expr); {
		case f.WildCard != nil && !rw.server.MariaDB: // which takes the alias before any column
			names = append(names, rw.wildcard(f.WildCard.Table.O, s)...)
		case f.WildCard == nil && f.AsName.L == "" && ok:
			names = append(names, c.Name.L)
		default:
			names = append(names, f.AsName.L)
		}
	}
	return names
}

// wildcard are the names of the counters in * or table.* of a query.
func (rw rewriter) wildcard(qualifier string, s *ast.SelectStmt) (names []string) {
	if s.From == nil {
		return nil
	}
	for _, src := range rw.joined(s.From) {
		if src.t != nil && rw.means(qualifier, src.name) {
			for _, c := range slices.Concat(src.t.Counters, src.t.Touch) {
				names = append(names, strings.ToLower(c.Name))
			}
		}
	}
	return names
}
