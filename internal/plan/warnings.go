package plan

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/countermysql/countermysql/internal/catalog"
)

// What is a warning in a query is an error in an UPDATE: a text that is no number, a
// division by zero. An increment whose rows are looked up by a query may not have a
// condition that warns.

// comparison is what a condition compares a column with.
type comparison struct {
	c      *catalog.Column
	values []Operand
}

// comparisons reads a condition that does nothing but compare columns with constants;
// ok is false if it may do more.
func (src source) comparisons(cond ast.ExprNode) (all []comparison, ok bool) {
	compare := func(e ast.ExprNode, with ...ast.ExprNode) ([]comparison, bool) {
		cmp := comparison{c: src.column(e)}
		if cmp.c == nil {
			return nil, false
		}
		for _, w := range with {
			v, ok := src.params.constant(w)
			switch {
			case ok:
				cmp.values = append(cmp.values, v)
			case !cmp.c.Dated() || !present(w):
				return nil, false
			}
		}
		return []comparison{cmp}, true
	}
	switch e := unparen(cond).(type) {
	case *ast.BinaryOperationExpr:
		switch e.Op {
		case opcode.LogicAnd, opcode.LogicOr, opcode.LogicXor:
			l, lok := src.comparisons(e.L)
			r, rok := src.comparisons(e.R)
			return append(l, r...), lok && rok
		case opcode.EQ, opcode.NE, opcode.LT, opcode.LE, opcode.GT, opcode.GE, opcode.NullEQ:
			if src.column(e.L) == nil {
				return compare(e.R, e.L)
			}
			return compare(e.L, e.R)
		}
	case *ast.UnaryOperationExpr:
		if e.Op == opcode.Not || e.Op == opcode.Not2 {
			return src.comparisons(e.V)
		}
	case *ast.PatternInExpr:
		return compare(e.Expr, e.List...)
	case *ast.BetweenExpr:
		return compare(e.Expr, e.Left, e.Right)
	case *ast.IsNullExpr:
		return nil, src.column(e.Expr) != nil
	case *ast.ColumnNameExpr:
		c := src.column(e)
		return nil, c != nil && c.Integer()
	}
	return nil, false
}

// warningFree reports whether the server compares the column with the value without a warning.
func (b Binder) warningFree(c *catalog.Column, v Operand) bool {
	if b.matchesExactly(c, v) {
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
		return c.Integer() || c.Decimal() || slices.Contains([]string{"float", "double", "bit", "year"}, c.DataType)
	case string:
		return strings.HasSuffix(c.DataType, "text") && utf8.ValidString(x)
	case time.Time:
		return c.Dated()
	}
	return false
}
