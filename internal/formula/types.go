package formula

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/pingcap/tidb/pkg/parser/types"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// A query only warns of a text that is no number, and fails at 1 - 2 of UNSIGNED numbers. In a
// trigger both fail the application's own write. So formulas are refused whose types allow it.

// use is what an expression does with others, as far as their types matter.
type use struct {
	how   how
	exprs []operand
}

type how int

const (
	asNumbers how = iota
	asTimes
	compared
	subtracted
)

type operand struct {
	text    string
	literal string // that of a text; "": none
}

// noteUses notes what a node does with its operands.
func (v *rowVisitor) noteUses(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryOperationExpr:
		switch n.Op {
		case opcode.EQ, opcode.NE, opcode.LT, opcode.LE, opcode.GT, opcode.GE, opcode.NullEQ:
			v.use(compared, n.L, n.R)
		case opcode.Minus:
			v.use(subtracted, n.L, n.R)
			fallthrough
		default:
			v.use(asNumbers, n.L, n.R)
		}
	case *ast.UnaryOperationExpr:
		v.use(asNumbers, n.V)
	case *ast.IsTruthExpr:
		v.use(asNumbers, n.Expr)
	case *ast.BetweenExpr:
		v.use(compared, n.Expr, n.Left, n.Right)
	case *ast.PatternInExpr:
		v.use(compared, append([]ast.ExprNode{n.Expr}, n.List...)...)
	case *ast.CaseExpr:
		for _, when := range n.WhenClauses {
			if n.Value != nil {
				v.use(compared, n.Value, when.Expr)
			} else {
				v.use(asNumbers, when.Expr)
			}
		}
	case *ast.FuncCastExpr:
		switch n.Tp.EvalType() {
		case types.ETInt, types.ETReal, types.ETDecimal:
			v.use(asNumbers, n.Expr)
		case types.ETDatetime, types.ETTimestamp, types.ETDuration:
			v.use(asTimes, n.Expr)
		}
	case *ast.FuncCallExpr:
		switch name := strings.ToUpper(n.FnName.O); {
		case name == "IF":
			v.use(asNumbers, n.Args[0])
		case numeric[name]:
			v.use(asNumbers, n.Args...)
		case temporal[name]:
			v.use(asTimes, n.Args...)
		case comparing[name]:
			v.use(compared, n.Args...)
		}
	}
}

var (
	numeric   = sqltext.WordSet(`ABS CEIL CEILING FLOOR ROUND SIGN TRUNCATE`)
	temporal  = sqltext.WordSet(`DATE DATEDIFF DAY DAYOFMONTH DAYOFWEEK DAYOFYEAR EXTRACT HOUR MINUTE MONTH QUARTER SECOND TIMESTAMPDIFF WEEKDAY YEAR`)
	comparing = sqltext.WordSet(`FIELD GREATEST LEAST NULLIF`)
)

func (v *rowVisitor) use(how how, exprs ...ast.ExprNode) {
	v.uses = append(v.uses, func() error {
		u := use{how: how}
		for _, e := range exprs {
			literal := ""
			if value, ok := e.(ast.ValueExpr); ok {
				if literal, ok = value.GetValue().(string); !ok && value.GetType().GetCharset() == "binary" && value.GetType().EvalType() == types.ETString {
					continue // 0x10 is a number where one is asked for
				}
			}
			if _, unit := e.(*ast.TimeUnitExpr); unit {
				continue
			}
			text, err := restored(e)
			if err != nil {
				return err
			}
			u.exprs = append(u.exprs, operand{text, literal})
		}
		v.formula.uses = append(v.formula.uses, u)
		return nil
	})
}

// TypesQuery asks for the types that [Formula.Mistyped] wants, as columns; "": it wants none.
func (f *Formula) TypesQuery() string {
	var texts []string
	for _, u := range f.uses {
		for _, e := range u.exprs {
			texts = append(texts, e.text)
		}
	}
	if texts == nil {
		return ""
	}
	return "SELECT " + strings.Join(texts, ", ") + " FROM " + f.from() + " LIMIT 0"
}

// Mistyped says what of the formula may fail a write, by the types of its expressions as
// go-sql-driver names them; "": nothing.
func (f *Formula) Mistyped(of []string) string {
	for _, u := range f.uses {
		if problem := u.problem(of[:len(u.exprs)]); problem != "" {
			return problem
		}
		of = of[len(u.exprs):]
	}
	return ""
}

func (u use) problem(of []string) string {
	numbers := u.how == asNumbers || u.how == compared && slices.ContainsFunc(of, IsNumber)
	times := u.how == asTimes || u.how == compared && slices.ContainsFunc(of, isTime)
	for i, e := range u.exprs {
		shown := strings.ReplaceAll(e.text, sqltext.Quote(rowName)+".", "")
		switch {
		case u.how == subtracted && isUnsigned(of[i]) && !slices.ContainsFunc(of, hasFraction):
			return fmt.Sprintf("its formula subtracts with %s, which is UNSIGNED, and a write fails where the difference would be below zero (1690); write CAST(%s AS SIGNED)", shown, shown)
		case u.how == subtracted || !isText(of[i]):
		case numbers && (e.literal == "" || !isNumeral(e.literal)):
			return fmt.Sprintf("its formula takes the text %s for a number, and a write fails where it is none (1292); compare it with texts, or have a column that is a number", shown)
		case times && e.literal == "":
			return fmt.Sprintf("its formula takes the text %s for a time, and a write fails where it is none (1292); have a column that is a DATETIME", shown)
		}
	}
	return ""
}

func isNumeral(s string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return err == nil
}

func isText(t string) bool {
	return strings.HasSuffix(t, "CHAR") || strings.HasSuffix(t, "TEXT") || strings.HasSuffix(t, "BINARY") || strings.HasSuffix(t, "BLOB")
}

func isTime(t string) bool { return t == "DATE" || t == "DATETIME" || t == "TIMESTAMP" || t == "TIME" }

// IsNumber is true of types that are numbers, as go-sql-driver names them.
func IsNumber(t string) bool {
	return strings.HasSuffix(t, "INT") || t == "BIT" || t == "YEAR" || hasFraction(t)
}

func hasFraction(t string) bool { return t == "DECIMAL" || t == "DOUBLE" || t == "FLOAT" }

func isUnsigned(t string) bool { return strings.HasPrefix(t, "UNSIGNED ") || t == "BIT" || t == "YEAR" }
