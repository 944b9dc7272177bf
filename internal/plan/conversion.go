package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/pingcap/tidb/pkg/parser/test_driver"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// conversion is what MySQL makes otherwise of a column than of an expression. It
// converts the constant that a column is compared with to the column's type: a time
// is a time beside a number (20260102 is midnight), and a counter in a list of strings
// an integer ('1e1' is 10). And where it groups in a temporary table, a parameter in
// GROUP_CONCAT and its like is NULL beside what a view computes.
type conversion struct {
	numbers []int // parameters beside a touch column
	strings []int // in a list beside a counter
	odd     bool  // it is so whatever the parameters are
	exact   bool  // and only the base table's own column does
}

var comparisons = []opcode.Op{opcode.EQ, opcode.NullEQ, opcode.NE, opcode.LT, opcode.LE, opcode.GT, opcode.GE}

// conversions looks for them in a statement.
func (rw rewriter) conversions(stmt ast.Node) (c conversion) {
	if rw.server.MariaDB {
		return c
	}
	touch := func(e ast.ExprNode) bool {
		ref, ok := columnRef(e)
		return ok && slices.ContainsFunc(rw.named, func(t *catalog.Table) bool { return catalog.FindColumn(t.Touch, ref.Name.O) != nil })
	}
	beside := func(operands ...ast.ExprNode) {
		if !slices.ContainsFunc(operands, touch) {
			return
		}
		for _, e := range operands {
			if p, ok := unparen(e).(*test_driver.ParamMarkerExpr); ok {
				c.numbers = append(c.numbers, rw.params[p.Offset])
			} else {
				c.odd = c.odd || numeric(e)
				c.exact = c.exact || computed(e)
			}
		}
	}
	every(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryOperationExpr:
			if slices.Contains(comparisons, n.Op) {
				beside(n.L, n.R)
			}
		case *ast.BetweenExpr:
			beside(n.Expr, n.Left, n.Right)
		case *ast.FuncCallExpr:
			if n.FnName.L == "nullif" {
				beside(n.Args...)
			}
		case *ast.AggregateFuncExpr:
			c.exact = c.exact || slices.ContainsFunc(n.Args, onlyParameters)
		case *ast.PatternInExpr:
			ref, ok := columnRef(n.Expr)
			if ok && slices.ContainsFunc(rw.named, func(t *catalog.Table) bool { c := t.Counter(ref.Name.O); return c != nil && c.Integer() }) {
				rw.params.inList(n.List, &c)
			}
		}
		return true
	})
	return c
}

// inList looks for strings in a list beside an integer counter.
func (ps parameters) inList(list []ast.ExprNode, c *conversion) {
	for _, e := range list {
		v, ok := ps.constant(e)
		if !ok {
			continue
		}
		if s, ok := v.literal.(string); ok {
			c.odd = c.odd || !isInteger(s)
		} else if v.param >= 0 {
			c.strings = append(c.strings, v.param)
		}
	}
}

// numeric reports whether an expression may be a number, other than a parameter.
func numeric(e ast.ExprNode) bool {
	switch e := unparen(e).(type) {
	case ast.ValueExpr:
		switch e.GetValue().(type) {
		case int64, uint64, float64, *test_driver.MyDecimal:
			return true
		}
	case *ast.BinaryOperationExpr, *ast.UnaryOperationExpr, *ast.VariableExpr:
		return true
	case *ast.FuncCastExpr:
		switch e.Tp.GetType() {
		case mysql.TypeLonglong, mysql.TypeNewDecimal, mysql.TypeDouble, mysql.TypeFloat:
			return true
		}
	}
	return false
}

// onlyParameters reports whether an expression has parameters and no columns.
func onlyParameters(e ast.ExprNode) bool {
	return some(e, func(*test_driver.ParamMarkerExpr) bool { return true }) && !some(e, func(*ast.ColumnName) bool { return true })
}

// computed reports whether an expression computes with what the server calls, as
// CURDATE() - 1 does.
func computed(e ast.ExprNode) bool {
	b, ok := unparen(e).(*ast.BinaryOperationExpr)
	return ok && some(b, func(*ast.FuncCallExpr) bool { return true })
}

func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// asks reports whether a literal in place of a parameter is of the kind for which
// the comparison needs a column.
func (cv conversion) asks(param int, v any) bool {
	switch v := v.(type) {
	case int64, uint64, float64:
		return slices.Contains(cv.numbers, param)
	case string:
		return slices.Contains(cv.strings, param) && !isInteger(v)
	}
	return false
}

// Written reports whether a literal of the text asks for a column.
func (cv conversion) Written(l *sqltext.Literals) bool {
	for i, at := range l.At {
		if cv.asks(at, l.Values[i]) {
			return true
		}
	}
	return false
}

// Some reports whether an argument may do that.
func (cv conversion) Some() bool { return cv.numbers != nil || cv.strings != nil }

// Given reports whether an argument does that go-sql-driver writes into the text.
func (cv conversion) Given(a Arguments) bool {
	if a.Binary {
		return false
	}
	for i, v := range a.Args {
		if cv.asks(i, v.Value) {
			return true
		}
	}
	return false
}
