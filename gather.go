package countermysql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

// gathered are the sums of several counters of a table's rows in one derived table, whose
// columns have names that hide none of the user's.
type gathered struct {
	t    *table
	name string    // of the base table in the query
	cond string    // on the slots of these keys, with their table called name; "": all
	cols []*column // counters and touch columns
}

// column is the name of a derived column: of key column i, or of cols behind those.
func (g *gathered) column(i int) string { return "countermysql_" + strconv.Itoa(i) }

// sum is the derived column that adds up c.
func (g *gathered) sum(c *column) string {
	i := slices.Index(g.cols, c)
	if i < 0 {
		i, g.cols = len(g.cols), append(g.cols, c)
	}
	return privateName + "." + g.column(len(g.t.key)+i)
}

// total is the value of a counter or touch column of a row.
func (g *gathered) total(c *column) string {
	base := quoteIdent(g.name) + "." + quoteIdent(c.name)
	if g.t.counter(c.name) == nil {
		return later(base, g.sum(c))
	}
	return g.t.cast(c, base+" + COALESCE("+g.sum(c)+", 0)")
}

// slots selects the sums that have been asked for.
func (g *gathered) slots() string {
	as, keys, cols := quoteIdent(g.name), make([]string, len(g.t.key)), []string{}
	for i, c := range g.t.key {
		keys[i] = as + "." + quoteIdent(c.name)
		cols = append(cols, keys[i]+" AS "+g.column(i))
	}
	for i, c := range g.cols {
		sum := "SUM("
		if g.t.counter(c.name) == nil {
			sum = "MAX("
		}
		cols = append(cols, sum+as+"."+quoteIdent(c.name)+") AS "+g.column(len(keys)+i))
	}
	where := g.t.planned(as)
	if g.cond != "" {
		where = "(" + g.cond + ") AND " + where
	}
	return "SELECT " + strings.Join(cols, ", ") + " FROM " + g.t.slots() + " AS " + as + " WHERE " + where + " GROUP BY " + strings.Join(keys, ", ")
}

// on joins the derived table with the base table.
func (g *gathered) on() string {
	conds := make([]string, len(g.t.key))
	for i, c := range g.t.key {
		conds[i] = privateName + "." + g.column(i) + " = " + quoteIdent(g.name) + "." + quoteIdent(c.name)
	}
	return strings.Join(conds, " AND ")
}

// joined is the base table with the sums of its rows.
func (g *gathered) joined() string {
	return g.t.base() + " AS " + quoteIdent(g.name) + " LEFT JOIN (" + g.slots() + ") AS " + privateName + " ON " + g.on()
}

// together is a query of several counters of rows whose keys it gives as numbers, by one
// look at their slots: a sum for each counter and row takes up to twice as long.
func (a *analysis) together(s *ast.SelectStmt, t *table, name string, text func(*gathered) string) *restated {
	g := &gathered{t: t, name: name}
	cond, params := a.keyCondition(s, t, name)
	if cond == "" {
		return nil
	}
	g.cond = cond
	text(g) // asks for the columns
	if len(g.cols) < 2 {
		return nil
	}
	for n := range len(a.params) {
		params = append(params, n)
	}
	return a.restate(text(g), params)
}

// keyCondition is what a query's condition says of the key, to be asked of the slots, and
// its parameters; "" if it does not say which few rows are meant.
func (a *analysis) keyCondition(s *ast.SelectStmt, t *table, name string) (cond string, params []int) {
	if s.Where == nil || len(t.key) == 0 || slices.ContainsFunc(t.key, func(c *column) bool { return !c.integer() }) {
		return "", nil
	}
	keys := every(s.Where, func(n ast.Node) bool {
		ref, ok := n.(*ast.ColumnName)
		return !ok || ref.Schema.O == "" && slices.Contains(t.key, t.column(ref.Name.O))
	})
	if start, end := a.whereSpan(); keys && start > 0 && slices.ContainsFunc(conjuncts(s.Where), func(cond ast.ExprNode) bool { return a.bounds(s, t, name, cond) }) {
		f := a.fragment(start, end)
		return strings.TrimSpace(strings.Join(f.pieces, "?")), f.params
	}
	pins := a.pins(t, name, s.Where)
	if !slices.Equal(keyColumns(pins), t.key) {
		return "", nil
	}
	rows := make([]string, len(pins))
	for i, p := range pins {
		conds := make([]string, len(p.values))
		for j, v := range p.values {
			number := "?"
			if v.param >= 0 {
				params = append(params, v.param)
			} else {
				switch x := v.literal.(type) {
				case int64:
					number = strconv.FormatInt(x, 10)
				case uint64:
					number = strconv.FormatUint(x, 10)
				default:
					return "", nil
				}
			}
			if v.negative {
				number = "-(" + number + ")"
			}
			conds[j] = quoteIdent(name) + "." + quoteIdent(p.cols[j].name) + " = " + number
		}
		rows[i] = "(" + strings.Join(conds, " AND ") + ")"
	}
	return strings.Join(rows, " OR "), params
}

// bounds reports whether a condition leaves few rows, or all of them are asked for.
func (a *analysis) bounds(s *ast.SelectStmt, t *table, name string, cond ast.ExprNode) bool {
	first := func(e ast.ExprNode) bool { return a.columnOf(t, name, e) == t.key[0] }
	switch e := unparen(cond).(type) {
	case *ast.BinaryOperationExpr:
		return e.Op == opcode.EQ && (first(e.L) || first(e.R)) && (s.Limit == nil || len(t.key) == 1)
	case *ast.PatternInExpr:
		return !e.Not && first(e.Expr) && (s.Limit == nil || len(t.key) == 1)
	case *ast.BetweenExpr:
		return !e.Not && first(e.Expr) && s.Limit == nil
	}
	return false
}
