package countermysql

import (
	"context"
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

// fallible reports whether the query may fail for a row's sake: what it computes is out
// of range, a subquery has several rows. Where sums are sorted or joined the servers
// compute that for rows, too, that a LIMIT, a HAVING or another condition leaves out.
func (a *analysis) fallible(stmt ast.Node) bool {
	for i, t := range a.toks {
		if t.in(acting) || assigns(a.toks, i) {
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

// overTables gives the answer to a query, which is sent once more if it has failed for a
// row's sake, or for that of a temporary table: over views that are tables the servers
// compute what they compute over the base tables.
func (c *conn) overTables(ctx context.Context, k *call, out outcome, err error) (outcome, error) {
	failed := err
	if err == nil && k.rows {
		rows, ok := out.rows.(*countedRows)
		if !ok {
			rows = &countedRows{physicalRows: out.rows.(physicalRows)}
		}
		out.rows, failed = rows, rows.peek()
	}
	if !ofRow(failed) && errorNumber(failed) != errCantReopen {
		return out, err
	}
	_ = out.close()
	k.tables = true
	text, args, _, err := c.rewritten(ctx, k)
	if err != nil {
		return outcome{}, err
	}
	return k.forwardWith(ctx, text, args)
}

// ofRow reports whether an error is one of values: of the classes 21, cardinality, and
// 22, data exception.
func ofRow(err error) bool {
	var e *mysql.MySQLError
	return err != nil && errors.As(err, &e) && e.SQLState[0] == '2' && (e.SQLState[1] == '1' || e.SQLState[1] == '2')
}
