package plan

import (
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// fallible reports whether the query may fail for a row's sake: what it computes is out
// of range, a subquery has several rows. Where sums are sorted or joined the servers
// compute that for rows, too, that a LIMIT, a HAVING or another condition leaves out.
func (a *analyzer) fallible(stmt ast.Node) bool {
	for i, t := range a.toks {
		if t.In(sqltext.Acting) || sqltext.Assigns(a.toks, i) {
			return false // to be done once
		}
	}
	return !every(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryOperationExpr:
			return !slices.Contains(arithmetic, n.Op)
		case *ast.UnaryOperationExpr:
			return n.Op != opcode.Minus
		case *ast.FuncCallExpr, *ast.FuncCastExpr, *ast.SubqueryExpr:
			return false
		}
		return true
	})
}

var arithmetic = []opcode.Op{opcode.Plus, opcode.Minus, opcode.Mul, opcode.Div, opcode.IntDiv, opcode.Mod}

// OfRow reports whether an error is one of values: of the classes 21, cardinality, and
// 22, data exception.
func OfRow(err error) bool {
	var e *mysql.MySQLError
	return err != nil && errors.As(err, &e) && e.SQLState[0] == '2' && (e.SQLState[1] == '1' || e.SQLState[1] == '2')
}
