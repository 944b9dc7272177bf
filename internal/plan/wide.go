package plan

import (
	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// wide reports whether a query needs the counters of most rows of its only
// table: then all slots are grouped once, which takes half the time of a sum
// for each row.
func (a *analyzer) wide(stmt ast.StmtNode, named []*catalog.Table) bool {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || len(named) != 1 || s.With != nil || s.LockInfo != nil || len(named[0].Key) == 0 || a.countTables(stmt) != 1 {
		return false
	}
	source := singleTable(s.From)
	if source == nil || a.target(source) != named[0] {
		return false
	}
	t := named[0]
	for _, cond := range conjuncts(s.Where) {
		if _, isNull := unparen(cond).(*ast.IsNullExpr); !isNull && !onlyCounters(t, cond) {
			return false // perhaps it selects few rows
		}
	}
	if s.Limit == nil {
		return true
	}
	return s.GroupBy != nil || s.Having != nil || s.Distinct || readsVirtualIn(t, s.OrderBy) || s.Where != nil && readsVirtualIn(t, s.Where) ||
		!every(s.Fields, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.AggregateFuncExpr, *ast.WindowFuncExpr:
				return false
			}
			return true
		})
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
