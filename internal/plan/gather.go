package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// together is a query of several counters of rows whose keys it gives as numbers, by one
// look at their slots: a sum for each counter and row takes up to twice as long.
func (a *analyzer) together(s *ast.SelectStmt, t *catalog.Table, name string, text func(*slotsql.Gathered) string) *restated {
	g := &slotsql.Gathered{Table: t, Name: name}
	cond, params := a.keyCondition(s, t, name)
	if cond == "" {
		return nil
	}
	g.Cond = cond
	text(g) // asks for the columns
	if len(g.Columns) < 2 {
		return nil
	}
	for n := range len(a.params) {
		params = append(params, n)
	}
	return a.restate(text(g), params)
}

// keyCondition is what a query's condition says of the key, to be asked of the slots, and
// its parameters; "" if it does not say which few rows are meant.
func (a *analyzer) keyCondition(s *ast.SelectStmt, t *catalog.Table, name string) (cond string, params []int) {
	if s.Where == nil || len(t.Key) == 0 || slices.ContainsFunc(t.Key, func(c *catalog.Column) bool { return !c.Integer() }) {
		return "", nil
	}
	keys := every(s.Where, func(n ast.Node) bool {
		ref, ok := n.(*ast.ColumnName)
		return !ok || ref.Schema.O == "" && slices.Contains(t.Key, t.Column(ref.Name.O))
	})
	if start, end := a.whereSpan(); keys && start > 0 && slices.ContainsFunc(conjuncts(s.Where), func(cond ast.ExprNode) bool { return a.bounds(s, t, name, cond) }) {
		f := a.fragment(start, end)
		return strings.TrimSpace(strings.Join(f.pieces, "?")), f.params
	}
	pins := a.pins(t, name, s.Where)
	if !slices.Equal(keyColumns(pins), t.Key) {
		return "", nil
	}
	rows := make([]string, len(pins))
	for i, p := range pins {
		conds := make([]string, len(p.values))
		for j, v := range p.values {
			number := "?"
			if v.param >= 0 {
				params = append(params, v.param)
			} else {
				switch x := v.literal.(type) {
				case int64:
					number = strconv.FormatInt(x, 10)
				case uint64:
					number = strconv.FormatUint(x, 10)
				default:
					return "", nil
				}
			}
			if v.negative {
				number = "-(" + number + ")"
			}
			conds[j] = sqltext.Quote(name) + "." + sqltext.Quote(p.Columns[j].Name) + " = " + number
		}
		rows[i] = "(" + strings.Join(conds, " AND ") + ")"
	}
	return strings.Join(rows, " OR "), params
}

// bounds reports whether a condition leaves few rows, or all of them are asked for.
func (a *analyzer) bounds(s *ast.SelectStmt, t *catalog.Table, name string, cond ast.ExprNode) bool {
	first := func(e ast.ExprNode) bool { return a.columnOf(t, name, e) == t.Key[0] }
	switch e := unparen(cond).(type) {
	case *ast.BinaryOperationExpr:
		return e.Op == opcode.EQ && (first(e.L) || first(e.R)) && (s.Limit == nil || len(t.Key) == 1)
	case *ast.PatternInExpr:
		return !e.Not && first(e.Expr) && (s.Limit == nil || len(t.Key) == 1)
	case *ast.BetweenExpr:
		return !e.Not && first(e.Expr) && s.Limit == nil
	}
	return false
}
