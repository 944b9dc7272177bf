package countermysql

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// wide reports whether a query needs the counters of most rows of its only
// table: then all slots are grouped once, which takes half the time of a sum
// for each row.
func (a *analysis) wide(stmt ast.StmtNode, named []*table) bool {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || len(named) != 1 || s.With != nil || s.LockInfo != nil || len(named[0].key) == 0 || a.countTables(stmt) != 1 {
		return false
	}
	source := singleTable(s.From)
	if source == nil || a.target(source) != named[0] {
		return false
	}
	t := named[0]
	for _, cond := range conjuncts(s.Where) {
		if _, isNull := unparen(cond).(*ast.IsNullExpr); !isNull && !a.onlyCounters(t, cond) {
			return false // perhaps it selects few rows
		}
	}
	if s.Limit == nil {
		return true
	}
	return s.GroupBy != nil || s.Having != nil || s.Distinct || a.readsVirtualIn(t, s.OrderBy) || s.Where != nil && a.readsVirtualIn(t, s.Where) ||
		!every(s.Fields, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.AggregateFuncExpr, *ast.WindowFuncExpr:
				return false
			}
			return true
		})
}

// onlyCounters reports whether a condition reads counters and nothing else.
func (a *analysis) onlyCounters(t *table, cond ast.ExprNode) bool {
	return every(cond, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ColumnName:
			return t.virtual(n.Name.O)
		case *ast.SubqueryExpr:
			return false
		}
		return true
	})
}

// wideView is view outside transactions, with all slots grouped once.
func (t *table) wideView(hints string, cols []*column) string {
	return t.joinedView(t.base()+hints+" LEFT JOIN ("+t.groupedSlots(cols)+") AS "+privateName, cols)
}

// groupedSlots sums the slots of each key that has any, as far as some columns need it.
func (t *table) groupedSlots(cols []*column) string {
	sums := quoteNames(t.key)
	for _, c := range cols {
		switch {
		case t.counter(c.name) != nil:
			sums = append(sums, "SUM("+quoteIdent(c.name)+") AS "+quoteIdent(c.name))
		case slices.Contains(t.touch, c):
			sums = append(sums, "MAX("+quoteIdent(c.name)+") AS "+quoteIdent(c.name))
		}
	}
	return "SELECT " + strings.Join(sums, ", ") + " FROM " + t.slots() + " WHERE " + quoteIdent(t.slotCol) + " IS NOT NULL GROUP BY " + strings.Join(quoteNames(t.key), ", ")
}

// joinedView is a view that joins the base table and sums of its slots.
func (t *table) joinedView(from string, of []*column) string {
	base := quoteIdent(t.spec.name)
	cols := make([]string, len(of))
	for i, c := range of {
		col, sum := base+"."+quoteIdent(c.name), privateName+"."+quoteIdent(c.name)
		switch {
		case t.counter(c.name) != nil:
			cols[i] = t.cast(c, col+" + COALESCE("+sum+", 0)") + " AS " + quoteIdent(c.name)
		case slices.Contains(t.touch, c):
			cols[i] = later(col, sum) + " AS " + quoteIdent(c.name)
		default:
			cols[i] = col
		}
	}
	return "(SELECT " + strings.Join(cols, ", ") + " FROM " + from + " ON " + t.sameKey(privateName, base) + ")"
}
