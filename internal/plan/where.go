package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/countermysql/countermysql/internal/catalog"
)

// rows finds the rows that a statement on the table can match.
func (src source) rows(where ast.ExprNode) RowSet {
	s := RowSet{Table: src.t, Name: src.name}
	if where == nil {
		return s
	}
	if start, end := src.whereSpan(); start > 0 && src.plain(where) {
		f := src.template(start, end)
		s.Where = &f
		return s
	}
	s.Keys = src.keys(where)
	return s
}

// maxKeys bounds the keys taken from one statement's lists.
const maxKeys = 256

// keys reads from a condition the keys it allows: some unique key whose every
// column is equal to a constant or in a list of them. nil: any row.
func (src source) keys(where ast.ExprNode) []KeyValue {
	if len(src.t.Key) == 0 {
		return []KeyValue{{}}
	}
	found := map[*catalog.Column][]Operand{}
	for _, cond := range conjuncts(where) {
		if c, values := src.equality(cond); c != nil && found[c] == nil {
			found[c] = values
		}
	}
	for _, k := range src.t.Unique {
		if keys := product(k.Columns, found); keys != nil {
			return keys
		}
	}
	return nil
}

// equality reads column = constant, and column IN (constants).
func (src source) equality(cond ast.ExprNode) (*catalog.Column, []Operand) {
	switch e := cond.(type) {
	case *ast.BinaryOperationExpr:
		if e.Op != opcode.EQ {
			return nil, nil
		}
		c, other := src.column(e.L), e.R
		if c == nil {
			c, other = src.column(e.R), e.L
		}
		if v, ok := src.params.constant(other); ok && c != nil {
			return c, []Operand{v}
		}
	case *ast.PatternInExpr:
		c := src.column(e.Expr)
		if c == nil || e.Not || e.Sel != nil {
			return nil, nil
		}
		values := make([]Operand, len(e.List))
		for i, item := range e.List {
			v, ok := src.params.constant(item)
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
	keys := []KeyValue{{Columns: cols}}
	for _, c := range cols {
		if len(found[c]) == 0 || len(keys)*len(found[c]) > maxKeys {
			return nil
		}
		var next []KeyValue
		for _, p := range keys {
			for _, v := range found[c] {
				next = append(next, KeyValue{Columns: cols, values: append(slices.Clone(p.values), v)})
			}
		}
		keys = next
	}
	return keys
}
