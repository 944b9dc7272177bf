package plan

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/pingcap/tidb/pkg/parser/test_driver"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// parsers are not safe for concurrent use, so each is held by one goroutine at
// a time; a parser keeps the memory of its largest text, so big texts get their own.
var parsers = sync.Pool{New: func() any { return parser.New() }}

const bigText = 1 << 16

// parse returns the statement, or nil where the parser can't read it.
func parse(text string, mode sqltext.Mode) (stmt ast.StmtNode) {
	defer func() {
		if recover() != nil { // the parser is not ours; what it can't take is exact
			stmt = nil
		}
	}()
	if misread(text, mode) {
		return nil
	}
	p := parsers.Get().(*parser.Parser)
	var sqlMode mysql.SQLMode
	if mode.AnsiQuotes {
		sqlMode |= mysql.ModeANSIQuotes
	}
	if mode.NoBackslashEscapes {
		sqlMode |= mysql.ModeNoBackslashEscapes
	}
	p.SetSQLMode(sqlMode)
	stmts, _, err := p.ParseSQL(text)
	if err != nil || len(stmts) != 1 {
		return nil
	}
	stmt = stmts[0] // ParseSQL reuses the slice, not the statement
	if len(text) < bigText {
		parsers.Put(p)
	}
	return stmt
}

// misread reports whether the parser would take a byte for a space that is part
// of a name to the server: 0x85 or 0xA0 where no character of UTF-8 can begin.
func misread(text string, mode sqltext.Mode) bool {
	return !utf8.ValidString(text) && slices.ContainsFunc(sqltext.Tokenize(text, mode), func(t sqltext.Token) bool {
		return t.Kind == sqltext.Word && (text[t.Start] == 0x85 || text[t.Start] == 0xA0)
	})
}

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

// Operand is a constant of a statement: a literal, a parameter, or a moment.
type Operand struct {
	param    int // index of the argument; -1 for a literal
	literal  any // int64, uint64, string, decimalLiteral or moment
	negative bool
}

// ServerClock is a call of the server's clock, left to the server.
type ServerClock string

var moments = map[string]ServerClock{"curdate": "CURRENT_DATE()", "current_date": "CURRENT_DATE()", "utc_date": "UTC_DATE()"}

// decimalLiteral is a number with a point, as it was written.
type decimalLiteral string

// constant reads a literal or a parameter; ok is false for anything else.
func (a *analyzer) constant(e ast.ExprNode) (v Operand, ok bool) {
	e = unparen(e)
	if u, isUnary := e.(*ast.UnaryOperationExpr); isUnary && (u.Op == opcode.Minus || u.Op == opcode.Plus) {
		v, ok = a.constant(u.V)
		if _, isString := v.literal.(string); isString {
			return v, false
		}
		v.negative = v.negative != (u.Op == opcode.Minus)
		return v, ok
	}
	if p, isParam := e.(*test_driver.ParamMarkerExpr); isParam {
		n, found := a.params[p.Offset]
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

// steady are the functions whose value depends on nothing but their arguments
// and the statement's moment, so that another connection computes the same.
var steady = sqltext.WordSet(`now current_timestamp localtime localtimestamp curdate current_date utc_timestamp utc_date date coalesce ifnull nullif
 if lower upper trim concat length char_length year month date_add date_sub mod abs unhex hex md5 isnull`)

// plain reports whether a condition reads nothing but ordinary columns of the
// table that the statement calls name: no counter, no subquery, no variable,
// no function that could answer differently on another connection.
func (a *analyzer) plain(e ast.Node, t *catalog.Table, name string) bool {
	return a.local(e, t, name) && !a.readsVirtualIn(t, e)
}

// means reports whether a column's qualifier, if it has one, is the table that
// the statement calls name. Aliases have the case that table names have.
func (a *analyzer) means(qualifier, name string) bool {
	return qualifier == "" || qualifier == name || a.schema.Server.FoldNames && strings.EqualFold(qualifier, name)
}

// local is plain, but for counters.
func (a *analyzer) local(e ast.Node, t *catalog.Table, name string) bool {
	return every(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ColumnName:
			return t.Column(n.Name.O) != nil && a.means(n.Table.O, name)
		case *ast.FuncCallExpr:
			return steady[n.FnName.L] && n.Schema.O == ""
		case *ast.SubqueryExpr, *ast.VariableExpr, *ast.DefaultExpr, *ast.ValuesExpr, *ast.AggregateFuncExpr, *ast.WindowFuncExpr,
			*ast.MatchAgainst, *ast.ExistsSubqueryExpr, *ast.CompareSubqueryExpr, *ast.SetCollationExpr:
			return false
		}
		return true
	})
}
