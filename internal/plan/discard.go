package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Discarding is the run of a statement that does away with counters' values unread. One
// that its column can't hold does not hinder it: the base row gets a stand-in.
type Discarding struct {
	Counters []*catalog.Column
	Stands   []StandIn
}

// StandIn are rows of which some counter has one.
type StandIn struct {
	Table  *catalog.Table
	Column *catalog.Column // of the last of them
	Where  string          // selects those that still have it
}

// gone are the counters of rows that a statement of such nodes does away with.
func (ns *namespace) gone(t *catalog.Table, nodes ...ast.Node) []*catalog.Column {
	if t.DeleteTriggers { // which may read them
		return nil
	}
	return ns.unread(t, t.Counters, nodes...)
}

// unread are those of some counters that none of the nodes reads.
func (ns *namespace) unread(t *catalog.Table, counters []*catalog.Column, nodes ...ast.Node) []*catalog.Column {
	if t.Watched() != "" || t.UpdateTriggers || ns.returns(t) || sqltext.HasWord(ns.toks, "NATURAL", "USING") {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(counters), func(c *catalog.Column) bool {
		return slices.ContainsFunc(nodes, func(n ast.Node) bool {
			return !isNil(n) && some(n, func(ref *ast.ColumnName) bool { return strings.EqualFold(ref.Name.O, c.Name) })
		})
	})
}

// overwritten are the counters that assignments do away with, in a statement of which
// the nodes are the rest.
func (ns *namespace) overwritten(t *catalog.Table, list []*ast.Assignment, rest ...ast.Node) []*catalog.Column {
	var counters []*catalog.Column
	for _, set := range list {
		if c := t.Counter(set.Column.Name.O); c != nil {
			counters = append(counters, c)
		}
		_, inserted := unparen(set.Expr).(*ast.ValuesExpr)
		if ref, ok := columnRef(set.Expr); !inserted && !(ok && ns.aliased(ref)) {
			rest = append(rest, set.Expr)
		}
	}
	return ns.unread(t, counters, rest...)
}
