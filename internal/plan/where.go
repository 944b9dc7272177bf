package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/countermysql/countermysql/internal/catalog"
)

// scope finds the rows that a statement on one table can match.
func (a *analyzer) scope(t *catalog.Table, name string, where ast.ExprNode) RowSet {
	s := RowSet{Table: t, Name: name}
	if where == nil {
		return s
	}
	if start, end := a.whereSpan(); start > 0 && a.plain(where, t, name) {
		f := a.fragment(start, end)
		s.Where = &f
		return s
	}
	s.Pins = a.pins(t, name, where)
	return s
}

// maxPins bounds the keys taken from one statement's lists.
const maxPins = 256

// pins reads from a condition the keys it allows: some unique key whose every
// column is equal to a constant or in a list of them. nil: any row.
func (a *analyzer) pins(t *catalog.Table, name string, where ast.ExprNode) []KeyValue {
	if len(t.Key) == 0 {
		return []KeyValue{{}}
	}
	found := map[*catalog.Column][]Operand{}
	for _, cond := range conjuncts(where) {
		if c, values := a.equality(t, name, cond); c != nil && found[c] == nil {
			found[c] = values
		}
	}
	for _, k := range t.Unique {
		if pins := product(k.Columns, found); pins != nil {
			return pins
		}
	}
	return nil
}

// columnOf is the column of the table that the statement calls name; nil if the
// expression is anything else.
func (a *analyzer) columnOf(t *catalog.Table, name string, e ast.ExprNode) *catalog.Column {
	ref, ok := columnRef(e)
	if !ok || !a.means(ref.Table.O, name) {
		return nil
	}
	return t.Column(ref.Name.O)
}

// equality reads column = constant, and column IN (constants).
func (a *analyzer) equality(t *catalog.Table, name string, cond ast.ExprNode) (*catalog.Column, []Operand) {
	column := func(e ast.ExprNode) *catalog.Column { return a.columnOf(t, name, e) }
	switch e := cond.(type) {
	case *ast.BinaryOperationExpr:
		if e.Op != opcode.EQ {
			return nil, nil
		}
		c, other := column(e.L), e.R
		if c == nil {
			c, other = column(e.R), e.L
		}
		if v, ok := a.params.constant(other); ok && c != nil {
			return c, []Operand{v}
		}
	case *ast.PatternInExpr:
		c := column(e.Expr)
		if c == nil || e.Not || e.Sel != nil {
			return nil, nil
		}
		values := make([]Operand, len(e.List))
		for i, item := range e.List {
			v, ok := a.params.constant(item)
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
func product(cols []*catalog.Column, found map[*catalog.Column][]Operand) []KeyValue {
	pins := []KeyValue{{Columns: cols}}
	for _, c := range cols {
		if len(found[c]) == 0 || len(pins)*len(found[c]) > maxPins {
			return nil
		}
		var next []KeyValue
		for _, p := range pins {
			for _, v := range found[c] {
				next = append(next, KeyValue{Columns: cols, values: append(slices.Clone(p.values), v)})
			}
		}
		pins = next
	}
	return pins
}
