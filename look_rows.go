package countermysql

import (
	"slices"
	"sync/atomic"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// rowLook is a look whose hidden columns say of each row whether it has slots. A row
// without any is the answer as it stands, and few rows have some: to look whether it has
// takes half the time that it takes to add up several counters.
type rowLook struct {
	text   string // "": there is none
	hidden int

	credit atomic.Int32 // grows by one with each that was the answer, and falls by two with each other
	vain   atomic.Int64 // by clock: until then it is not sent
}

const (
	maxLooked   = 100 // rows that are read before the first is given out
	mostCredit  = 8
	vainCosts   = 2
	longLooking = 60 * lookAgain // is not tried again after more rows
)

// rowsLooked are the hidden columns of a row look; nil where less than two counters are
// read for each row, or which rows there are, and in which order, may depend on one.
func (a *analysis) rowsLooked(s *ast.SelectStmt, named []*table) (hidden []string) {
	if s.From == nil || s.WindowSpecs != nil || !rowByRow(s.Fields) || some(s.Fields, func(*ast.SubqueryExpr) bool { return true }) ||
		a.countersNamed(s.Fields, named) < 2 || !a.ordersOtherwise(s, named) {
		return nil
	}
	read := a.countersRead(s, named, s.Fields)
	if wild(s) {
		read = named
	}
	for _, source := range a.sources(s) {
		switch t := source.t; {
		case t == nil || !slices.Contains(read, t):
		case len(t.key) == 0:
			return nil
		default:
			hidden = append(hidden, "EXISTS (SELECT 1 FROM "+t.slots()+" AS "+privateName+" WHERE "+t.sameKey(privateName, quoteIdent(source.name))+" AND "+t.planned(privateName)+")")
		}
	}
	return hidden
}

// countersNamed is how many counters and touch columns a select list has; a wildcard has
// all.
func (a *analysis) countersNamed(list *ast.FieldList, named []*table) (n int) {
	every(list, func(node ast.Node) bool {
		c, ok := node.(*ast.ColumnName)
		if ok && slices.ContainsFunc(named, func(t *table) bool { return t.virtual(c.Name.O) }) {
			n++
		}
		return true
	})
	for _, f := range list.Fields {
		if f.WildCard != nil {
			for _, t := range named {
				n += len(t.counters) + len(t.touch)
			}
		}
	}
	return n
}

// ordersOtherwise reports whether a query has no order, or one by columns that are no
// counters and have no other's name.
func (a *analysis) ordersOtherwise(s *ast.SelectStmt, named []*table) bool {
	return s.OrderBy == nil || !slices.ContainsFunc(s.OrderBy.Items, func(item *ast.ByItem) bool {
		c, ok := columnRef(item.Expr)
		return !ok || slices.ContainsFunc(named, func(t *table) bool { return t.virtual(c.Name.O) }) ||
			slices.ContainsFunc(s.Fields.Fields, func(f *ast.SelectField) bool { return f.AsName.L == c.Name.L || namesItself(f.Expr) })
	})
}

// told reports whether no row has slots, and remembers whether it pays to ask.
func (l *rowLook) told(rows *lookedRows) bool {
	answered, pause := true, lookAgain
	if len(rows.ahead) > maxLooked {
		answered, pause = false, longLooking
	}
	for row := range rows.ahead {
		for i := range l.hidden {
			answered = answered && !rows.has(row, i)
		}
	}
	switch {
	case answered:
		if l.credit.Load() < mostCredit {
			l.credit.Add(1)
		}
	case pause > lookAgain || l.credit.Add(-vainCosts) < 0:
		l.credit.Store(0)
		l.vain.Store(int64(clock() + pause))
	}
	return answered
}
