package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
)

// rowLook is a look whose hidden columns say of each row whether it has slots. A row
// without any is the answer as it stands, and few rows have some: to look whether it has
// takes half the time that it takes to add up several counters.
type rowLook struct {
	Text   string // "": there is none
	Hidden int
}

// rowsLooked are the hidden columns of a row look; nil where less than two counters are
// read for each row, or which rows there are, and in which order, may depend on one.
func (rw rewriter) rowsLooked(s *ast.SelectStmt) (hidden []string) {
	if s.From == nil || s.WindowSpecs != nil || !rowByRow(s.Fields) || some(s.Fields, func(*ast.SubqueryExpr) bool { return true }) ||
		countersNamed(s.Fields, rw.named) < 2 || !ordersOtherwise(s, rw.named) {
		return nil
	}
	read := rw.countersRead(s, rw.named, s.Fields)
	if wild(s) {
		read = rw.named
	}
	for _, source := range rw.sources(s) {
		switch t := source.t; {
		case t == nil || !slices.Contains(read, t):
		case len(t.Key) == 0:
			return nil
		default:
			hidden = append(hidden, slotsql.RowHasSlots(t, source.name))
		}
	}
	return hidden
}

// countersNamed is how many counters and touch columns a select list has; a wildcard has
// all.
func countersNamed(list *ast.FieldList, named []*catalog.Table) (n int) {
	every(list, func(node ast.Node) bool {
		c, ok := node.(*ast.ColumnName)
		if ok && slices.ContainsFunc(named, func(t *catalog.Table) bool { return t.Virtual(c.Name.O) }) {
			n++
		}
		return true
	})
	for _, f := range list.Fields {
		if f.WildCard != nil {
			for _, t := range named {
				n += len(t.Counters) + len(t.Touch)
			}
		}
	}
	return n
}

// ordersOtherwise reports whether a query has no order, or one by columns that are no
// counters and have no other's name.
func ordersOtherwise(s *ast.SelectStmt, named []*catalog.Table) bool {
	return s.OrderBy == nil || !slices.ContainsFunc(s.OrderBy.Items, func(item *ast.ByItem) bool {
		c, ok := columnRef(item.Expr)
		return !ok || slices.ContainsFunc(named, func(t *catalog.Table) bool { return t.Virtual(c.Name.O) }) ||
			slices.ContainsFunc(s.Fields.Fields, func(f *ast.SelectField) bool { return f.AsName.L == c.Name.L || namesItself(f.Expr) })
	})
}
