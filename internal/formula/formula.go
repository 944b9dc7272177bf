package formula

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/format"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // literals

	"github.com/countermysql/countermysql/internal/sqltext"
)

// Formula is a counter as a sum over the rows of one table. It is immutable.
type Formula struct {
	DB, Table string   // that it counts; DB is "" where the text names none
	Key       []string // its columns that are the counter's key, in that order
	Columns   []string // all that it reads
	Computed  []string // those of which it reads more than whether they are NULL
	IsSum     bool     // SUM: its amounts have the type of its expression

	of    string // what is counted or summed, for a row called {}; "" for COUNT(*)
	where string // likewise; "": all rows
	uses  []use
}

// Error is what a formula can't be, and what to do.
type Error struct{ Problem, Remedy string }

func (e *Error) Error() string { return e.Problem + "; " + e.Remedy }

// Form is how formulas are written.
const Form = "write SELECT key, COUNT(*) FROM table WHERE … GROUP BY key, with COUNT(*), COUNT(column) or SUM(expression)"

func no(problem string, args ...any) error { return &Error{fmt.Sprintf(problem, args...), Form} }

// Parse reads a formula. The error is an *Error.
func Parse(text string) (*Formula, error) {
	text = strings.TrimRight(strings.TrimSpace(text), "; \n\t")
	toks := sqltext.Tokenize(text, sqltext.Mode{})
	for _, t := range toks {
		switch {
		case t.Kind == sqltext.Versioned, t.Kind == sqltext.Hint:
			return nil, no("it has a comment that servers read")
		case t.Kind == sqltext.String && strings.Contains(text[t.Start:t.End], "\\"):
			return nil, no("it has a backslash in a text, which is another text under NO_BACKSLASH_ESCAPES (LIKE has ESCAPE '|')")
		case t.Kind == sqltext.String && zoned.MatchString(text[t.Start:t.End]):
			return nil, no("it has a time with an offset, which is another time in each session's time zone")
		case t.Kind == sqltext.Param:
			return nil, no("it has a parameter")
		case t.Kind == sqltext.Variable:
			return nil, no("it reads a variable, which is another in each session")
		}
	}
	s, ok := parse(text).(*ast.SelectStmt)
	if !ok {
		return nil, no("it is no query that can be read")
	}
	f := &Formula{}
	if err := f.shape(s); err != nil {
		return nil, err
	}
	alias, err := f.source(s)
	if err != nil {
		return nil, err
	}
	counted := s.Fields.Fields[len(s.Fields.Fields)-1].Expr.(*ast.AggregateFuncExpr)
	if f.IsSum = strings.EqualFold(counted.F, ast.AggFuncSum); f.IsSum || !star(counted) {
		of, v := grouped(counted.Args[0]), &rowVisitor{formula: f, alias: alias} // IS NULL follows it
		if !f.IsSum {
			v.asked = of
		}
		if f.of, err = v.ofRow(of); err != nil {
			return nil, err
		}
	}
	if s.Where != nil {
		v := &rowVisitor{formula: f, alias: alias}
		v.use(asNumbers, s.Where)
		f.where, err = v.ofRow(s.Where)
	}
	for _, k := range f.Key {
		note(&f.Columns, k)
	}
	return f, err
}

// zoned finds a time with an offset (https://dev.mysql.com/doc/refman/8.4/en/datetime.html).
var zoned = regexp.MustCompile(`\d:\d\d(\.\d*)?[+-]\d\d:\d\d['"]$`)

func star(f *ast.AggregateFuncExpr) bool {
	v, ok := f.Args[0].(ast.ValueExpr)
	return ok && v.GetValue() == int64(1) // as the parser reads COUNT(*); COUNT(1) is the same
}

// shape checks the clauses, and reads the key.
func (f *Formula) shape(s *ast.SelectStmt) error {
	switch {
	case s.Kind != ast.SelectStmtKindSelect || s.With != nil || s.From == nil || s.LockInfo != nil || s.SelectIntoOpt != nil || s.Limit != nil || s.OrderBy != nil || s.WindowSpecs != nil:
		return no("it is more than a SELECT of groups of one table")
	case s.Distinct:
		return no("it has DISTINCT, for which one row does not tell its part")
	case s.Having != nil:
		return no("it has HAVING, for which one row does not tell its part")
	case s.GroupBy == nil || s.GroupBy.Rollup:
		return no("it has no GROUP BY of the counter's key")
	}
	fields := s.Fields.Fields
	last, ok := fields[len(fields)-1].Expr.(*ast.AggregateFuncExpr)
	switch {
	case !ok || last.F != ast.AggFuncSum && last.F != ast.AggFuncCount && !strings.EqualFold(last.F, "sum") && !strings.EqualFold(last.F, "count"):
		return no("what it selects last is neither COUNT nor SUM")
	case last.Distinct:
		return no("it has DISTINCT, for which one row does not tell its part")
	case len(last.Args) != 1:
		return no("it counts several columns together")
	}
	for _, field := range fields[:len(fields)-1] {
		c, ok := field.Expr.(*ast.ColumnNameExpr)
		if !ok {
			return no("what it selects first are not the columns of the key")
		}
		f.Key = append(f.Key, c.Name.Name.O)
	}
	var groups []string
	for _, item := range s.GroupBy.Items {
		c, ok := item.Expr.(*ast.ColumnNameExpr)
		if !ok {
			return no("its GROUP BY has more than columns")
		}
		groups = append(groups, c.Name.Name.O)
	}
	if len(f.Key) == 0 || !slices.EqualFunc(f.Key, groups, strings.EqualFold) {
		return no("its GROUP BY is not by what it selects first, in that order")
	}
	return nil
}

// source reads the table, and what the formula calls it.
func (f *Formula) source(s *ast.SelectStmt) (alias string, err error) {
	join := s.From.TableRefs
	source, ok := join.Left.(*ast.TableSource)
	if join.Right != nil || !ok {
		return "", no("it reads more than one table")
	}
	table, ok := source.Source.(*ast.TableName)
	if !ok {
		return "", no("it reads a query")
	}
	if len(table.PartitionNames) > 0 || len(table.IndexHints) > 0 || table.AsOf != nil {
		return "", no("its FROM has more than a table")
	}
	f.DB, f.Table = table.Schema.O, table.Name.O
	if source.AsName.O != "" {
		return source.AsName.O, nil
	}
	return f.Table, nil
}

func note(columns *[]string, column string) {
	if !slices.ContainsFunc(*columns, func(c string) bool { return strings.EqualFold(c, column) }) {
		*columns = append(*columns, column)
	}
}

// rowName stands for the row's name in the texts of a formula.
const rowName = "countermysql_row"

// ofRow writes an expression over one row, whose columns get the row's name. It does not depend
// on the sql_mode, as the text does: of a || b and "x" the parser reads what they are by default.
func (v *rowVisitor) ofRow(e ast.ExprNode) (string, error) {
	e.Accept(v)
	if v.err != nil {
		return "", v.err
	}
	for _, note := range v.uses { // now that all columns have the row's name
		if err := note(); err != nil {
			return "", err
		}
	}
	return restored(e)
}

func restored(e ast.ExprNode) (string, error) {
	var b strings.Builder
	ctx := format.NewRestoreCtx(format.RestoreStringSingleQuotes|format.RestoreStringEscapeBackslash|format.RestoreKeyWordUppercase|
		format.RestoreNameBackQuotes|format.RestoreSpacesAroundBinaryOperation|format.RestoreStringWithoutDefaultCharset, &b)
	if err := e.Restore(ctx); err != nil {
		return "", no("it has an expression that can't be followed")
	}
	return b.String(), nil
}

// rowVisitor checks an expression, and gives its columns the row's name.
type rowVisitor struct {
	formula *Formula
	alias   string
	asked   ast.ExprNode // whether it is NULL
	uses    []func() error
	err     error
}

// pure are the functions whose value depends on their arguments alone.
var pure = sqltext.WordSet(`ABS CEIL CEILING CHAR_LENGTH CHARACTER_LENGTH COALESCE CONCAT CONCAT_WS DATE DATEDIFF DAY DAYOFMONTH DAYOFWEEK DAYOFYEAR EXTRACT FIELD FIND_IN_SET FLOOR
 GREATEST HOUR IF IFNULL INSTR ISNULL JSON_CONTAINS JSON_EXTRACT JSON_UNQUOTE JSON_VALUE LCASE LEAST LEFT LENGTH LOCATE LOWER LTRIM MINUTE MOD MONTH NULLIF OCTET_LENGTH QUARTER
 REPLACE RIGHT ROUND RTRIM SECOND SIGN SUBSTR SUBSTRING SUBSTRING_INDEX TIMESTAMPDIFF TRIM TRUNCATE UCASE UPPER WEEKDAY YEAR`)

func (v *rowVisitor) Enter(n ast.Node) (ast.Node, bool) {
	group(n)
	v.noteUses(n)
	switch n := n.(type) {
	case *ast.ColumnName:
		if n.Table.O != "" && !strings.EqualFold(n.Table.O, v.alias) {
			v.err = no("it reads %s, which is not its table", n.Table.O)
		}
		note(&v.formula.Columns, n.Name.O)
		if of, ok := v.asked.(*ast.ColumnNameExpr); !ok || of.Name != n {
			note(&v.formula.Computed, n.Name.O)
		}
		n.Schema.O, n.Table.O, n.Table.L = "", rowName, rowName
	case *ast.SubqueryExpr, *ast.ExistsSubqueryExpr, *ast.CompareSubqueryExpr:
		v.err = no("it has a subquery")
	case *ast.AggregateFuncExpr, *ast.WindowFuncExpr:
		v.err = no("it has an aggregate within another, or in its WHERE")
	case *ast.FuncCallExpr:
		if !pure[strings.ToUpper(n.FnName.O)] && !isLiteral(n) {
			v.err = no("it calls %s, which is not known to depend on its arguments alone", strings.ToUpper(n.FnName.O))
		}
	case *ast.IsNullExpr:
		v.asked = n.Expr
	case *ast.BinaryOperationExpr:
		if n.Op == opcode.Div {
			v.err = no("it divides, by digits that each session sets; DIV has none")
		}
	case *ast.ColumnNameExpr, *ast.UnaryOperationExpr, *ast.ParenthesesExpr, *ast.BetweenExpr, *ast.PatternInExpr, *ast.PatternLikeOrIlikeExpr,
		*ast.IsTruthExpr, *ast.CaseExpr, *ast.WhenClause, *ast.FuncCastExpr, *ast.TimeUnitExpr, *ast.TrimDirectionExpr, ast.ValueExpr:
	default:
		v.err = no("it has an expression that can't be followed")
	}
	return n, v.err != nil
}

// isLiteral is true of DATE '2020-01-01' and the like.
func isLiteral(n *ast.FuncCallExpr) bool {
	return n.FnName.L == ast.DateLiteral || n.FnName.L == ast.TimeLiteral || n.FnName.L == ast.TimestampLiteral
}

// group puts the operands of an operator in parentheses, which Restore leaves out where the
// text needs none: in MOD(a + 1, b), which it writes with an operator.
func group(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryOperationExpr:
		if l, ok := n.L.(*ast.BinaryOperationExpr); !ok || l.Op != n.Op {
			n.L = grouped(n.L)
		}
		n.R = grouped(n.R)
	case *ast.UnaryOperationExpr:
		n.V = grouped(n.V)
	case *ast.BetweenExpr:
		n.Expr, n.Left, n.Right = grouped(n.Expr), grouped(n.Left), grouped(n.Right)
	case *ast.PatternInExpr:
		n.Expr = grouped(n.Expr)
	case *ast.PatternLikeOrIlikeExpr:
		n.Expr, n.Pattern = grouped(n.Expr), grouped(n.Pattern)
	case *ast.IsNullExpr:
		n.Expr = grouped(n.Expr)
	case *ast.IsTruthExpr:
		n.Expr = grouped(n.Expr)
	case *ast.FuncCastExpr:
		if n.FunctionType == ast.CastBinaryOperator {
			n.Expr = grouped(n.Expr)
		}
	}
}

func grouped(e ast.ExprNode) ast.ExprNode {
	switch e := e.(type) {
	case *ast.FuncCastExpr:
		if e.FunctionType != ast.CastBinaryOperator {
			return e
		}
	case *ast.BinaryOperationExpr, *ast.UnaryOperationExpr, *ast.BetweenExpr, *ast.PatternInExpr, *ast.PatternLikeOrIlikeExpr, *ast.IsNullExpr, *ast.IsTruthExpr:
	default:
		return e
	}
	return &ast.ParenthesesExpr{Expr: e}
}

func (v *rowVisitor) Leave(n ast.Node) (ast.Node, bool) { return n, v.err == nil }

// Part is the formula's part of one row, NEW or OLD: what the row adds to the counter. cast
// is the type of a sum.
func (f *Formula) Part(row, cast string) string {
	part := "1"
	switch {
	case f.IsSum:
		part = "COALESCE(CAST(" + f.of + " AS " + cast + "), 0)" // as SUM does: COALESCE(x, 0) may be of another type than x
	case f.of != "":
		part = "IF(" + f.of + " IS NULL, 0, 1)"
	}
	if f.where != "" {
		part = "IF(" + f.where + ", " + part + ", 0)"
	}
	return strings.ReplaceAll(part, sqltext.Quote(rowName), row)
}

// Query is the formula with the table's full name.
func (f *Formula) Query() string {
	var keys []string
	for _, k := range f.Key {
		keys = append(keys, sqltext.Qualified(rowName, k))
	}
	counted := "COUNT(*)"
	switch {
	case f.IsSum:
		counted = "SUM(" + f.of + ")"
	case f.of != "":
		counted = "COUNT(" + f.of + ")"
	}
	list := strings.Join(keys, ", ")
	q := "SELECT " + list + ", " + counted + " FROM " + f.from()
	if f.where != "" {
		q += " WHERE " + f.where
	}
	return q + " GROUP BY " + list
}

func (f *Formula) from() string {
	return sqltext.Qualified(f.DB, f.Table) + " AS " + sqltext.Quote(rowName)
}

// In is the formula with the database that its table is in, where the text names none.
func (f *Formula) In(db string) *Formula {
	own := *f
	if own.DB == "" {
		own.DB = db
	}
	return &own
}

// parse reads a statement; nil where the parser can't.
func parse(text string) (stmt ast.StmtNode) {
	defer func() {
		if recover() != nil { // the parser is not ours
			stmt = nil
		}
	}()
	stmts, _, err := parser.New().ParseSQL(text)
	if err != nil || len(stmts) != 1 {
		return nil
	}
	return stmts[0]
}
