package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// lockings notes with each table how it is locked. A view can't be named behind OF:
// the edits take its name out of there. ok is false where that can't be followed.
func (a *analyzer) lockings(stmt ast.Node, refs []tableRef) (edits []edit, ok bool) {
	clauses := a.parsed.moreLocks
	every(stmt, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectStmt); ok && s.LockInfo != nil && s.LockInfo.LockType != ast.SelectLockNone {
			clauses++
		}
		return true
	})
	sels := sqltext.Nest[int]{-1}
	for i := 0; i < len(a.toks) && clauses > 0; i++ {
		switch t := a.toks[i]; {
		case sels.Follow(t, -1):
		case t.Is("SELECT"):
			*sels.Top() = i
		case t.Is("UNION"), t.Is("INTERSECT"), t.Is("EXCEPT"):
			*sels.Top() = -1
		case sqltext.Locks(a.toks, i):
			if *sels.Top() < 0 {
				return nil, false
			}
			edits = append(edits, a.lock(i, *sels.Top(), refs)...)
			clauses--
		}
	}
	return edits, clauses == 0
}

// lock notes what the clause at token i locks of the SELECT at token sel.
func (a *analyzer) lock(i, sel int, refs []tableRef) []edit {
	toks := a.toks
	l, of, end := sqltext.ReadLock(toks, i)
	var named, others []string
	for _, at := range of {
		name := toks[at[1]].Name
		switch r := slices.IndexFunc(refs, func(r tableRef) bool { return r.sel == sel && a.means(name, r.name) }); {
		case r >= 0 && refs[r].locks.Clause != "":
			return nil // named twice, which the server refuses
		case r >= 0:
			refs[r].locks = l
			named = append(named, name)
		default:
			others = append(others, a.text[toks[at[0]].Start:toks[at[1]].End])
		}
	}
	for n := range refs {
		if of == nil && refs[n].sel == sel {
			refs[n].locks = l
		}
	}
	switch {
	case named == nil || a.server.MariaDB: // which has no OF
		return nil
	case others == nil:
		return []edit{{toks[i].Start, toks[end-1].End, "", nil}}
	}
	return []edit{{toks[of[0][0]].Start, toks[of[len(of)-1][1]].End, strings.Join(others, ", "), nil}}
}

// lockedRows are the rows that a locking SELECT of one table can return, and the
// first of them, which are all that it locks if it has a LIMIT and no order by a
// counter: others take the next ones, as jobs from a queue.
func (a *analyzer) lockedRows(stmt ast.StmtNode, named []*catalog.Table) (rows, first []RowSet) {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || len(named) != 1 || s.From == nil || s.With != nil || a.countTables(stmt) != 1 {
		return allOf(named), nil
	}
	source := singleTable(s.From)
	if source == nil || a.target(source) == nil {
		return allOf(named), nil
	}
	t, name := named[0], nameOf(source)
	rows = []RowSet{a.scope(t, name, s.Where)}
	if s.Limit == nil || s.GroupBy != nil || s.Having != nil || s.Distinct || a.parsed.into || s.SelectIntoOpt != nil || hinted(source) || !rowByRow(s.Fields) ||
		s.Where != nil && rows[0].Where == nil || s.OrderBy != nil && (readsVirtualIn(t, s.OrderBy) || a.sortKeys(s, t, name, false) == nil) {
		return rows, rows
	}
	if few := a.few(t, name, s.Where != nil, s.Limit); few != nil {
		return rows, []RowSet{*few}
	}
	return rows, rows
}

// maxKeyed bounds the rows that a query without a locking clause locks by their keys.
const maxKeyed = 8

// keyedRows are the rows of a query of one table that gives their keys; nil if it does not.
func (a *analyzer) keyedRows(stmt ast.StmtNode, named []*catalog.Table) []RowSet {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || len(named) != 1 || s.From == nil || s.With != nil || a.countTables(stmt) != 1 {
		return nil
	}
	source := singleTable(s.From)
	if source == nil || a.target(source) == nil {
		return nil
	}
	pins := a.pins(named[0], nameOf(source), s.Where)
	if pins == nil || len(pins) > maxKeyed {
		return nil
	}
	return []RowSet{{Table: named[0], Name: nameOf(source), Pins: pins}}
}

// few are the rows that a statement's condition, order and limit leave; nil if that
// can't be told.
func (a *analyzer) few(t *catalog.Table, name string, where bool, limit *ast.Limit) *RowSet {
	f, ok := a.tail(where)
	s := &RowSet{Table: t, Name: name, Where: &f}
	for _, e := range []ast.ExprNode{limit.Count, limit.Offset} {
		if e != nil {
			v, constant := a.params.constant(e)
			s.limits, ok = append(s.limits, v), ok && constant
		}
	}
	if !ok {
		return nil
	}
	return s
}
