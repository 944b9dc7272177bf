package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// together is a query of several counters of rows whose keys it gives as numbers, by one
// look at their slots: a sum for each counter and row takes up to twice as long.
func (one singleSelect) together(text func(*slotsql.Gathered) string) *restated {
	g := &slotsql.Gathered{Table: one.t, Name: one.name}
	cond, params := one.keyCondition()
	if cond == "" {
		return nil
	}
	g.Cond = cond
	text(g) // asks for the columns
	if len(g.Columns) < 2 {
		return nil
	}
	for n := range len(one.params) {
		params = append(params, n)
	}
	return one.restate(text(g), params)
}

// keyCondition is what its condition says of the key, to be asked of the slots, and
// its parameters; "" if it does not say which few rows are meant.
func (one singleSelect) keyCondition() (cond string, params []int) {
	t, name := one.t, one.name
	if one.Where == nil || !t.Key.Integers() {
		return "", nil
	}
	onlyKey := every(one.Where, func(n ast.Node) bool {
		ref, ok := n.(*ast.ColumnName)
		return !ok || ref.Schema.O == "" && slices.Contains(t.Key, t.Column(ref.Name.O))
	})
	if start, end := one.whereSpan(); onlyKey && start > 0 && slices.ContainsFunc(conjuncts(one.Where), func(cond ast.ExprNode) bool { return one.bounds(cond) }) {
		f := one.template(start, end)
		return strings.TrimSpace(strings.Join(f.pieces, "?")), f.params
	}
	keys := one.keys(one.Where)
	if !slices.Equal(keyColumns(keys), t.Key) {
		return "", nil
	}
	rows := make([]string, len(keys))
	for i, p := range keys {
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
			conds[j] = sqltext.Qualified(name, p.Columns[j].Name) + " = " + number
		}
		rows[i] = "(" + strings.Join(conds, " AND ") + ")"
	}
	return strings.Join(rows, " OR "), params
}

// bounds reports whether a condition leaves few rows, or all of them are asked for.
func (one singleSelect) bounds(cond ast.ExprNode) bool {
	first := func(e ast.ExprNode) bool { return one.column(e) == one.t.Key[0] }
	switch e := unparen(cond).(type) {
	case *ast.BinaryOperationExpr:
		return e.Op == opcode.EQ && (first(e.L) || first(e.R)) && (one.Limit == nil || len(one.t.Key) == 1)
	case *ast.PatternInExpr:
		return !e.Not && first(e.Expr) && (one.Limit == nil || len(one.t.Key) == 1)
	case *ast.BetweenExpr:
		return !e.Not && first(e.Expr) && one.Limit == nil
	}
	return false
}
