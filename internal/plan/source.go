package plan

import (
	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// source is what a FROM clause calls name.
type source struct {
	*namespace
	node *ast.TableSource
	t    *catalog.Table // nil: no counter table
	name string
}

// sourceOf is a part of a FROM clause; t is nil for a derived table.
func (ns *namespace) sourceOf(node *ast.TableSource) source {
	if _, ok := node.Source.(*ast.TableName); ok {
		return source{ns, node, ns.target(node), nameOf(node)}
	}
	return source{namespace: ns, node: node, name: node.AsName.O}
}

// column is the column of the table that an expression is; nil if it is anything else.
func (src source) column(e ast.ExprNode) *catalog.Column {
	ref, ok := columnRef(e)
	if !ok || !src.means(ref.Table.O, src.name) {
		return nil
	}
	return src.t.Column(ref.Name.O)
}

// plain reports whether a condition reads nothing but ordinary columns of the
// table: no counter, no subquery, no variable,
// no function that could answer differently on another connection.
func (src source) plain(e ast.Node) bool {
	return src.local(e) && !readsVirtualIn(src.t, e)
}

// local is plain, but for counters.
func (src source) local(e ast.Node) bool {
	return every(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ColumnName:
			return src.t.Column(n.Name.O) != nil && src.means(n.Table.O, src.name)
		case *ast.FuncCallExpr:
			return steady[n.FnName.L] && n.Schema.O == ""
		case *ast.SubqueryExpr, *ast.VariableExpr, *ast.DefaultExpr, *ast.ValuesExpr, *ast.AggregateFuncExpr, *ast.WindowFuncExpr,
			*ast.MatchAgainst, *ast.ExistsSubqueryExpr, *ast.CompareSubqueryExpr, *ast.SetCollationExpr:
			return false
		}
		return true
	})
}

// steady are the functions whose value depends on nothing but their arguments
// and the statement's moment, so that another connection computes the same.
var steady = sqltext.WordSet(`now current_timestamp localtime localtimestamp curdate current_date utc_timestamp utc_date date coalesce ifnull nullif
 if lower upper trim concat length char_length year month date_add date_sub mod abs greatest least unhex hex md5 isnull`)

// astray reports whether a column is said to be of another table, or in another database.
func (src source) astray(stmt ast.Node) bool {
	return some(stmt, func(c *ast.ColumnName) bool {
		ours := c.Table.O == "" || src.alias != "" && c.Table.O == src.alias ||
			src.means(c.Table.O, src.name) && (c.Schema.O == "" || src.schema.Lookup(c.Schema.O, c.Table.O, "") == src.t)
		return !ours
	})
}

// readsVirtualIn reports whether any of the nodes names a counter or touch
// column of t. Columns of other tables in subqueries count as well: that is exact.
func readsVirtualIn(t *catalog.Table, nodes ...ast.Node) bool {
	for _, n := range nodes {
		if isNil(n) {
			continue
		}
		if some(n, func(c *ast.ColumnName) bool { return t.Virtual(c.Name.O) }) {
			return true
		}
	}
	return false
}

// onlyCounters reports whether a condition reads counters and nothing else.
func onlyCounters(t *catalog.Table, cond ast.ExprNode) bool {
	return every(cond, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ColumnName:
			return t.Virtual(n.Name.O)
		case *ast.SubqueryExpr:
			return false
		}
		return true
	})
}
