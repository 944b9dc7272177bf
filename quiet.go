package countermysql

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

// What is a warning in a query is an error in an UPDATE: a text that is no number, a
// division by zero. An increment whose rows are looked up by a query may not have a
// condition that warns.

// comparison is what a condition compares a column with.
type comparison struct {
	c      *column
	values []value
}

// comparisons reads a condition that does nothing but compare columns with constants;
// ok is false if it may do more.
func (a *analysis) comparisons(t *table, name string, cond ast.ExprNode) (all []comparison, ok bool) {
	column := func(e ast.ExprNode) *column { return a.columnOf(t, name, e) }
	compare := func(e ast.ExprNode, with ...ast.ExprNode) ([]comparison, bool) {
		cmp := comparison{c: column(e)}
		if cmp.c == nil {
			return nil, false
		}
		for _, w := range with {
			v, ok := a.constant(w)
			switch {
			case ok:
				cmp.values = append(cmp.values, v)
			case !cmp.c.temporal() || !present(w):
				return nil, false
			}
		}
		return []comparison{cmp}, true
	}
	switch e := unparen(cond).(type) {
	case *ast.BinaryOperationExpr:
		switch e.Op {
		case opcode.LogicAnd, opcode.LogicOr, opcode.LogicXor:
			l, lok := a.comparisons(t, name, e.L)
			r, rok := a.comparisons(t, name, e.R)
			return append(l, r...), lok && rok
		case opcode.EQ, opcode.NE, opcode.LT, opcode.LE, opcode.GT, opcode.GE, opcode.NullEQ:
			if column(e.L) == nil {
				return compare(e.R, e.L)
			}
			return compare(e.L, e.R)
		}
	case *ast.UnaryOperationExpr:
		if e.Op == opcode.Not || e.Op == opcode.Not2 {
			return a.comparisons(t, name, e.V)
		}
	case *ast.PatternInExpr:
		return compare(e.Expr, e.List...)
	case *ast.BetweenExpr:
		return compare(e.Expr, e.Left, e.Right)
	case *ast.IsNullExpr:
		return nil, column(e.Expr) != nil
	case *ast.ColumnNameExpr:
		c := column(e)
		return nil, c != nil && c.integer()
	}
	return nil, false
}

// present reports whether the expression is the moment that the statement runs.
func present(e ast.ExprNode) bool {
	f, ok := unparen(e).(*ast.FuncCallExpr)
	return ok && len(f.Args) == 0 && (f.FnName.L == "now" || f.FnName.L == "current_timestamp" || f.FnName.L == "utc_timestamp")
}

func (c *column) temporal() bool {
	return c.dataType == "date" || c.dataType == "datetime" || c.dataType == "timestamp"
}

// quiet reports whether the server compares the column with the value without a warning.
func (b binder) quiet(c *column, v value) bool {
	if b.sound(c, v) {
		return true
	}
	x, ok := b.raw(v)
	if bytes, is := x.([]byte); is {
		x = string(bytes)
	}
	switch x := x.(type) {
	case nil:
		return ok
	case int64, uint64, bool, float64, decimalLiteral:
		return c.integer() || c.decimal() || slices.Contains([]string{"float", "double", "bit", "year"}, c.dataType)
	case string:
		return strings.HasSuffix(c.dataType, "text") && utf8.ValidString(x)
	case time.Time:
		return c.temporal()
	}
	return false
}

// warns reports whether the condition that an increment has beside its key may warn.
func (inc *increment) warns(b binder) bool {
	return inc.doubtful || slices.ContainsFunc(inc.compares, func(cmp comparison) bool {
		return slices.ContainsFunc(cmp.values, func(v value) bool { return !b.quiet(cmp.c, v) })
	})
}
