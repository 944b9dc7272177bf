package plan

import (
	"database/sql/driver"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/pingcap/tidb/pkg/parser/test_driver"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// Operand is a constant of a statement: a literal, a parameter, or a moment.
type Operand struct {
	param    int // index of the argument; -1 for a literal
	literal  any // int64, uint64, string, decimalLiteral or ServerClock
	negative bool
}

// ServerClock is a call of the server's clock, left to the server.
type ServerClock string

// decimalLiteral is a number with a point, as it was written.
type decimalLiteral string

// parameters are the indexes of the arguments, by the offsets of their places in the text.
type parameters map[int]int

// constant reads a literal or a parameter; ok is false for anything else.
func (ps parameters) constant(e ast.ExprNode) (v Operand, ok bool) {
	e = unparen(e)
	if u, isUnary := e.(*ast.UnaryOperationExpr); isUnary && (u.Op == opcode.Minus || u.Op == opcode.Plus) {
		v, ok = ps.constant(u.V)
		if _, isString := v.literal.(string); isString {
			return v, false
		}
		v.negative = v.negative != (u.Op == opcode.Minus)
		return v, ok
	}
	if p, isParam := e.(*test_driver.ParamMarkerExpr); isParam {
		n, found := ps[p.Offset]
		return Operand{param: n}, found
	}
	if f, isCall := e.(*ast.FuncCallExpr); isCall && len(f.Args) == 0 && moments[f.FnName.L] != "" {
		return Operand{param: -1, literal: moments[f.FnName.L]}, true
	}
	lit, isValue := e.(ast.ValueExpr)
	if !isValue {
		return v, false
	}
	switch x := lit.GetValue().(type) {
	case int64, uint64, string:
		return Operand{param: -1, literal: x}, true
	case *test_driver.MyDecimal:
		return Operand{param: -1, literal: decimalLiteral(x.String())}, true
	}
	return v, false
}

var moments = map[string]ServerClock{"curdate": "CURRENT_DATE()", "current_date": "CURRENT_DATE()", "utc_date": "UTC_DATE()"}

// Binder writes constants and templates with the arguments of one call.
type Binder struct {
	sqltext.Encoder
	Args []driver.NamedValue
}

// Arguments are what one execution brings to a plan.
type Arguments struct {
	Binder                     // with the literals of the text, if it shares the plan with others
	Given    int               // arguments of the caller's
	Literals *sqltext.Literals // of the text; nil: none
	Binary   bool              // the server gets the arguments apart from the text
	Sticky   bool              // and takes some for floating-point numbers in this text alone, whatever they are
}

// Count is how many arguments the plan gets.
func (args Arguments) Count() int {
	if args.Literals == nil {
		return args.Given
	}
	return args.Given + len(args.Literals.At)
}

// raw returns the constant's Go value, sign aside.
func (b Binder) raw(v Operand) (any, bool) {
	if v.param < 0 {
		return v.literal, true
	}
	if v.param >= len(b.Args) {
		return nil, false
	}
	return b.Args[v.param].Value, true
}

// value writes a constant.
func (b Binder) value(buf []byte, v Operand) (_ []byte, ok bool) {
	x, ok := b.raw(v)
	if !ok {
		return buf, false
	}
	if v.negative {
		buf = append(buf, "-("...)
	}
	switch x := x.(type) {
	case decimalLiteral:
		buf = append(buf, x...)
	case ServerClock:
		buf = append(buf, x...)
	default:
		if buf, ok = b.Arg(buf, x); !ok {
			return buf, false
		}
	}
	if v.negative {
		buf = append(buf, ')')
	}
	return buf, true
}
