package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/pingcap/tidb/pkg/parser/test_driver"
)

// unparen strips parentheses around an expression.
func unparen(e ast.ExprNode) ast.ExprNode {
	for {
		p, ok := e.(*ast.ParenthesesExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}

// conjuncts splits an expression at its top-level ANDs.
func conjuncts(e ast.ExprNode) []ast.ExprNode {
	if e == nil {
		return nil
	}
	e = unparen(e)
	if b, ok := e.(*ast.BinaryOperationExpr); ok && b.Op == opcode.LogicAnd {
		return append(conjuncts(b.L), conjuncts(b.R)...)
	}
	return []ast.ExprNode{e}
}

// ands splits a condition at its ANDs, but for those in parentheses.
func ands(cond ast.ExprNode) []ast.ExprNode {
	if b, ok := cond.(*ast.BinaryOperationExpr); ok && b.Op == opcode.LogicAnd {
		return append(ands(b.L), ands(b.R)...)
	}
	return []ast.ExprNode{cond}
}

// nullLiteral reads NULL.
func nullLiteral(e ast.ExprNode) bool {
	e = unparen(e)
	lit, ok := e.(ast.ValueExpr)
	_, isParam := e.(*test_driver.ParamMarkerExpr)
	return ok && !isParam && lit.GetValue() == nil
}

// columnRef returns the referenced column's name and qualifiers.
func columnRef(e ast.ExprNode) (*ast.ColumnName, bool) {
	c, ok := unparen(e).(*ast.ColumnNameExpr)
	if !ok {
		return nil, false
	}
	return c.Name, true
}

// visitor calls f for each node until it returns false.
type visitor struct {
	f  func(ast.Node) bool
	ok bool
}

func (v *visitor) Enter(n ast.Node) (ast.Node, bool) {
	v.ok = v.ok && v.f(n)
	return n, !v.ok
}

func (v *visitor) Leave(n ast.Node) (ast.Node, bool) { return n, v.ok }

// every reports whether f holds for the node and all below it.
func every(n ast.Node, f func(ast.Node) bool) bool {
	v := &visitor{f: f, ok: true}
	n.Accept(v)
	return v.ok
}

// some reports whether f holds for some node of its kind, of the node and all below it.
func some[T ast.Node](n ast.Node, f func(T) bool) bool {
	return !every(n, func(n ast.Node) bool {
		x, ok := n.(T)
		return !ok || !f(x)
	})
}

func isNil(n ast.Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *ast.OrderByClause:
		return n == nil
	case *ast.Limit:
		return n == nil
	}
	return false
}

// singleTable returns the only table of a FROM clause, or nil.
func singleTable(refs *ast.TableRefsClause) *ast.TableSource {
	if refs == nil || refs.TableRefs == nil || refs.TableRefs.Right != nil {
		return nil
	}
	source, ok := refs.TableRefs.Left.(*ast.TableSource)
	if !ok {
		return nil
	}
	if _, ok := source.Source.(*ast.TableName); !ok {
		return nil
	}
	return source
}

func nameOf(source *ast.TableSource) string {
	if source.AsName.O != "" {
		return source.AsName.O
	}
	return source.Source.(*ast.TableName).Name.O
}

// hinted reports whether partitions or indexes are named, which have to exist.
func hinted(source *ast.TableSource) bool {
	name := source.Source.(*ast.TableName)
	return len(name.PartitionNames) > 0 || len(name.IndexHints) > 0
}

// wild reports whether a select list has a wildcard.
func wild(s *ast.SelectStmt) bool {
	return s.Fields == nil || slices.ContainsFunc(s.Fields.Fields, func(f *ast.SelectField) bool { return f.WildCard != nil })
}

// values are the values that the rows of VALUES have.
func values(stmt *ast.InsertStmt) (all []ast.Node) {
	for _, row := range stmt.Lists {
		for _, e := range row {
			all = append(all, e)
		}
	}
	return all
}

// equalColumns reports whether a condition compares columns with each other and does
// nothing else: which rows it leaves says nothing of how many.
func equalColumns(cond ast.ExprNode) bool {
	return every(cond, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryOperationExpr:
			return n.Op == opcode.EQ || n.Op == opcode.LogicAnd
		case *ast.ColumnNameExpr, *ast.ColumnName, *ast.ParenthesesExpr:
			return true
		}
		return false
	})
}

// compares reports whether a condition does nothing but compare columns and constants,
// which can't fail for a row's sake.
func compares(where ast.ExprNode) bool {
	return every(where, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryOperationExpr:
			switch n.Op {
			case opcode.EQ, opcode.NE, opcode.LT, opcode.LE, opcode.GT, opcode.GE, opcode.NullEQ, opcode.LogicAnd, opcode.LogicOr, opcode.LogicXor:
				return true
			}
			return false
		case *ast.UnaryOperationExpr:
			_, constant := unparen(n.V).(ast.ValueExpr)
			return n.Op == opcode.Not || n.Op == opcode.Not2 || n.Op == opcode.Minus && constant
		case *ast.ColumnNameExpr, *ast.ColumnName, *ast.ParenthesesExpr, *ast.IsNullExpr, *ast.BetweenExpr, *ast.PatternInExpr, *ast.PatternLikeOrIlikeExpr, *ast.IsTruthExpr:
			return true
		}
		_, ok := n.(ast.ValueExpr)
		return ok
	})
}

// picksRows reports whether a query gives rows as they are, or what aggregates make of all of them: it has no
// groups and no locks, and writes nothing.
func picksRows(s *ast.SelectStmt) bool {
	return s.Kind == ast.SelectStmtKindSelect && !s.Distinct && s.GroupBy == nil && s.Having == nil && s.WindowSpecs == nil && s.LockInfo == nil && s.SelectIntoOpt == nil
}

// rowByRow reports whether a select list says of each row something that does
// not depend on others.
func rowByRow(list *ast.FieldList) bool {
	return every(list, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.AggregateFuncExpr, *ast.WindowFuncExpr, *ast.VariableExpr:
			return false
		}
		return true
	})
}

// present reports whether the expression is the moment that the statement runs.
func present(e ast.ExprNode) bool {
	f, ok := unparen(e).(*ast.FuncCallExpr)
	return ok && len(f.Args) == 0 && (f.FnName.L == "now" || f.FnName.L == "current_timestamp" || f.FnName.L == "utc_timestamp")
}
