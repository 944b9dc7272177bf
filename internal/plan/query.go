package plan

import (
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/test_driver"

	"github.com/countermysql/countermysql/internal/catalog"
)

// selection plans a SELECT, a UNION, a WITH.
func (a *analyzer) selection(stmt ast.StmtNode, named []*catalog.Table) *Plan {
	rw := a.rewriter(named)
	q, otherwise := rw.sums(stmt)
	if otherwise != "" {
		return a.opaque(named, nil, otherwise)
	}
	one, isOne := a.singleSelect(stmt, named)
	if q == nil {
		read := &BaseRead{Tables: named}
		if isOne {
			read.Keys = one.numericKeys()
		}
		return &Plan{Work: read}
	}
	if isOne && !q.columns {
		if one.wide() {
			q.SQL, q.Short = q.renderWide(), one.countByDifference()
		} else if spliced, together := one.splice(); spliced != "" {
			q.SQL, q.Short = spliced, together
		}
	}
	q.Into = a.parsed.into
	q.mayFailPerRow = !a.parsed.into && !q.columns && !q.Locking && a.mayFailPerRow(stmt)
	q.others = some(stmt, func(t *ast.TableName) bool { return a.lookup(t) == nil })
	if !a.parsed.into && !q.columns {
		q.Top = rw.top(stmt, q)
	}
	q.Look, q.Apart = rw.look(stmt, q.Top), rw.apart(stmt)
	q.NamedByArgs = q.Renamed && namedByArgs(stmt)
	keyed := false
	switch {
	case !isOne:
	case q.Locking:
		q.Keys = one.numericKeys()
		q.Exact.Rows, q.First = one.lockedRows(a.parsed.into)
		q.Locked = rw.lockedRow(one, q)
	default:
		q.Keys, q.Keyed = one.numericKeys(), one.keyedRows()
		keyed = q.Keys != nil || q.Keyed != nil
	}
	if l := q.Look; l != nil {
		l.Rows.keepFor(keyed)
	}
	return &Plan{Work: q}
}

// readToWrite plans a statement that writes another table by what it reads of counter
// tables.
func (a *analyzer) readToWrite(stmt ast.Node, named []*catalog.Table) *Plan {
	q, otherwise := a.rewriter(named).sums(stmt)
	switch {
	case otherwise != "":
		return a.opaque(named, nil, otherwise)
	case q == nil:
		return &Plan{}
	}
	return &Plan{Work: q}
}

// namedByArgs reports whether a column without an alias has a parameter in its text.
func namedByArgs(stmt ast.Node) bool {
	return some(stmt, func(f *ast.SelectField) bool {
		return f.WildCard == nil && f.AsName.O == "" && some(f.Expr, func(*test_driver.ParamMarkerExpr) bool { return true })
	})
}
