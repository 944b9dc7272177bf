package plan

import (
	"database/sql/driver"
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/pingcap/tidb/pkg/parser/test_driver"

	"github.com/countermysql/countermysql/internal/catalog"
)

// Apart says of a query that it is the same whether the server parses it for each execution or has
// prepared it, and gets its arguments in the text or apart from it: it reads columns of tables, and
// each argument is compared with one, a number with numbers and a string with strings, or counts
// rows. MySQL compares times with what is apart otherwise, and makes other types of what is computed
// with it. MariaDB may crash when it prepares sums in subqueries and in derived tables.
type Apart struct {
	ok    bool
	takes []takes // by argument
}

// takes is what an argument may be.
type takes int

const (
	integer takes = iota
	count         // of rows: what is below zero is no syntax
	text
)

// Takes reports whether the arguments are such ones.
func (a *Apart) Takes(args []driver.NamedValue) bool {
	if !a.ok || len(args) != len(a.takes) {
		return false
	}
	for i, arg := range args {
		fits := false
		switch v := arg.Value.(type) {
		case int64:
			fits = a.takes[i] == integer || a.takes[i] == count && v >= 0
		case uint64:
			fits = a.takes[i] != text
		case string:
			fits = a.takes[i] == text
		}
		if !fits {
			return false
		}
	}
	return true
}

// apart looks at all parameters of a query.
func (rw rewriter) apart(stmt ast.StmtNode) Apart {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || rw.actsTwice() || !readsColumns(s) {
		return Apart{}
	}
	a := Apart{takes: make([]takes, len(rw.params))}
	all, found := rw.sources(stmt), 0
	param := func(e ast.ExprNode, as takes) {
		if p, ok := unparen(e).(*test_driver.ParamMarkerExpr); ok {
			n, known := rw.params[p.Offset]
			if found++; known {
				a.takes[n] = as
			}
		}
	}
	compared := func(column ast.ExprNode, values ...ast.ExprNode) {
		if as, ok := rw.comparable(column, all); ok {
			for _, v := range values {
				param(v, as)
			}
		}
	}
	every(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryOperationExpr:
			switch n.Op {
			case opcode.EQ, opcode.NE, opcode.LT, opcode.LE, opcode.GT, opcode.GE:
				compared(n.L, n.R)
				compared(n.R, n.L)
			}
		case *ast.PatternInExpr:
			compared(n.Expr, n.List...)
		case *ast.Limit:
			param(n.Count, count)
			if n.Offset != nil {
				param(n.Offset, count)
			}
		}
		return true
	})
	a.ok = found == len(rw.params)
	return a
}

// comparable reports whether an expression is a column of a counter table that holds integers, or
// strings.
func (rw rewriter) comparable(e ast.ExprNode, all []source) (as takes, ok bool) {
	ref, ok := columnRef(e)
	if !ok || ref.Schema.O != "" {
		return 0, false
	}
	var column *catalog.Column
	for _, s := range all {
		if ref.Table.O != "" && !s.means(ref.Table.O, s.name) {
			continue
		}
		if s.t == nil {
			return 0, false
		}
		c := s.t.Column(ref.Name.O)
		switch {
		case c == nil && ref.Table.O == "":
			continue
		case c == nil || !c.Integer() && !c.Text(), column != nil && column.Text() != c.Text():
			return 0, false
		}
		column = c
	}
	if column != nil && column.Text() {
		as = text
	}
	return as, column != nil
}

// readsColumns reports whether a query reads nothing but columns of tables, each row for itself or
// all rows together.
func readsColumns(s *ast.SelectStmt) bool {
	if !picksRows(s) || s.From == nil || s.With != nil {
		return false
	}
	for _, f := range s.Fields.Fields {
		switch e := f.Expr.(type) {
		case nil: // a wildcard
		case *ast.ColumnNameExpr:
		case *ast.AggregateFuncExpr:
			if slices.ContainsFunc(e.Args, func(arg ast.ExprNode) bool { return some(arg, func(n ast.Node) bool { return !readsColumn(n) }) }) {
				return false
			}
		default:
			return false
		}
	}
	return every(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SubqueryExpr, *ast.ExistsSubqueryExpr, *ast.CompareSubqueryExpr, *ast.VariableExpr, *ast.MatchAgainst:
			return false
		case *ast.TableSource:
			_, is := n.Source.(*ast.TableName)
			return is
		}
		return true
	})
}

// readsColumn reports whether a node is of a column, or of the 1 of COUNT(*).
func readsColumn(n ast.Node) bool {
	switch n.(type) {
	case *ast.ColumnNameExpr, *ast.ColumnName, ast.ValueExpr:
		_, param := n.(*test_driver.ParamMarkerExpr)
		return !param
	}
	return false
}
