package countermysql

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

var endOfWhere = wordSet(`GROUP HAVING ORDER LIMIT WINDOW FOR LOCK INTO PROCEDURE RETURNING`)

// whereSpan is the text of the statement's own WHERE condition; start is 0 if it has
// none, or stands in parentheses as a whole.
func (a *analysis) whereSpan() (start, end int) {
	for i, t := range outermost(a.toks) {
		switch {
		case start == 0 && t.is("WHERE"):
			start = t.end
		case start > 0 && t.is("RETURNING") && !a.schema.server.mariaDB: // a name
		case start > 0 && (t.in(endOfWhere) || t.punct(';')):
			return start, a.toks[i-1].end
		}
	}
	return start, a.toks[len(a.toks)-1].end
}

// scope finds the rows that a statement on one table can match.
func (a *analysis) scope(t *table, name string, where ast.ExprNode) scope {
	s := scope{t: t, name: name}
	if where == nil {
		return s
	}
	if start, end := a.whereSpan(); start > 0 && a.plain(where, t, name) {
		f := a.fragment(start, end)
		s.where = &f
		return s
	}
	s.pins = a.pins(t, name, where)
	return s
}

// maxPins bounds the keys taken from one statement's lists.
const maxPins = 256

// pins reads from a condition the keys it allows: some unique key whose every
// column is equal to a constant or in a list of them. nil: any row.
func (a *analysis) pins(t *table, name string, where ast.ExprNode) []pin {
	if len(t.key) == 0 {
		return []pin{{}}
	}
	found := map[*column][]value{}
	for _, cond := range conjuncts(where) {
		if c, values := a.equality(t, name, cond); c != nil && found[c] == nil {
			found[c] = values
		}
	}
	for _, k := range t.unique {
		if pins := product(k.cols, found); pins != nil {
			return pins
		}
	}
	return nil
}

// columnOf is the column of the table that the statement calls name; nil if the
// expression is anything else.
func (a *analysis) columnOf(t *table, name string, e ast.ExprNode) *column {
	ref, ok := columnRef(e)
	if !ok || !a.means(ref.Table.O, name) {
		return nil
	}
	return t.column(ref.Name.O)
}

// equality reads column = constant, and column IN (constants).
func (a *analysis) equality(t *table, name string, cond ast.ExprNode) (*column, []value) {
	column := func(e ast.ExprNode) *column { return a.columnOf(t, name, e) }
	switch e := cond.(type) {
	case *ast.BinaryOperationExpr:
		if e.Op != opcode.EQ {
			return nil, nil
		}
		c, other := column(e.L), e.R
		if c == nil {
			c, other = column(e.R), e.L
		}
		if v, ok := a.constant(other); ok && c != nil {
			return c, []value{v}
		}
	case *ast.PatternInExpr:
		c := column(e.Expr)
		if c == nil || e.Not || e.Sel != nil {
			return nil, nil
		}
		values := make([]value, len(e.List))
		for i, item := range e.List {
			v, ok := a.constant(item)
			if !ok {
				return nil, nil
			}
			values[i] = v
		}
		return c, values
	}
	return nil, nil
}

// product combines the values of a key's columns; nil if one has none.
func product(cols []*column, found map[*column][]value) []pin {
	pins := []pin{{cols: cols}}
	for _, c := range cols {
		if len(found[c]) == 0 || len(pins)*len(found[c]) > maxPins {
			return nil
		}
		var next []pin
		for _, p := range pins {
			for _, v := range found[c] {
				next = append(next, pin{cols: cols, values: append(slices.Clone(p.values), v)})
			}
		}
		pins = next
	}
	return pins
}
