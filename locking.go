package countermysql

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// locking is how a SELECT locks the base rows of a table in its own FROM clause:
// always exclusively, because shared locks do not keep increments away. Tables of
// its subqueries, and those that OF leaves out, are not locked.
type locking struct {
	clause string // FOR UPDATE …; "": it does not
	shared bool   // the statement asks for shared locks
}

// lockings notes with each table how it is locked. A view can't be named behind OF:
// the edits take its name out of there. ok is false where that can't be followed.
func (a *analysis) lockings(stmt ast.Node, refs []tableRef) (edits []edit, ok bool) {
	clauses := a.moreLocks
	every(stmt, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectStmt); ok && s.LockInfo != nil && s.LockInfo.LockType != ast.SelectLockNone {
			clauses++
		}
		return true
	})
	sels := nest[int]{-1}
	for i := 0; i < len(a.toks) && clauses > 0; i++ {
		switch t := a.toks[i]; {
		case sels.follow(t, -1):
		case t.is("SELECT"):
			*sels.top() = i
		case t.is("UNION"), t.is("INTERSECT"), t.is("EXCEPT"):
			*sels.top() = -1
		case locks(a.toks, i):
			if *sels.top() < 0 {
				return nil, false
			}
			edits = append(edits, a.lock(i, *sels.top(), refs)...)
			clauses--
		}
	}
	return edits, clauses == 0
}

// locks reports whether a locking clause begins at token i.
func locks(toks []token, i int) bool {
	next := func(w string) bool { return i+1 < len(toks) && toks[i+1].is(w) }
	return toks[i].is("FOR") && (next("UPDATE") || next("SHARE")) || toks[i].is("LOCK") && next("IN")
}

// lock notes what the clause at token i locks of the SELECT at token sel.
func (a *analysis) lock(i, sel int, refs []tableRef) []edit {
	toks := a.toks
	l, of, end := readLock(toks, i)
	var named, others []string
	for _, at := range of {
		name := toks[at[1]].name
		switch r := slices.IndexFunc(refs, func(r tableRef) bool { return r.sel == sel && a.means(name, r.name) }); {
		case r >= 0 && refs[r].locks.clause != "":
			return nil // named twice, which the server refuses
		case r >= 0:
			refs[r].locks = l
			named = append(named, name)
		default:
			others = append(others, a.text[toks[at[0]].start:toks[at[1]].end])
		}
	}
	for n := range refs {
		if of == nil && refs[n].sel == sel {
			refs[n].locks = l
		}
	}
	switch {
	case named == nil || a.schema.server.mariaDB: // which has no OF
		return nil
	case others == nil:
		return []edit{{toks[i].start, toks[end-1].end, "", nil}}
	}
	return []edit{{toks[of[0][0]].start, toks[of[len(of)-1][1]].end, strings.Join(others, ", "), nil}}
}

// readLock reads the locking clause at token i: the first and last tokens of the names
// behind OF, and the token behind it all.
func readLock(toks []token, i int) (l locking, of [][2]int, end int) {
	l = locking{"FOR UPDATE", !toks[i+1].is("UPDATE")}
	end = i + 2
	if toks[i].is("LOCK") {
		end = i + 4 // LOCK IN SHARE MODE
	}
	is := func(w string) bool { return end < len(toks) && toks[end].is(w) }
	for more := is("OF"); more && end+1 < len(toks); {
		first := end + 1
		last := first
		if last+2 < len(toks) && toks[last+1].punct('.') {
			last += 2
		}
		of = append(of, [2]int{first, last})
		end = last + 1
		more = end < len(toks) && toks[end].punct(',')
	}
	switch {
	case is("NOWAIT"):
		l.clause, end = l.clause+" NOWAIT", end+1
	case is("SKIP"):
		l.clause, end = l.clause+" SKIP LOCKED", end+2
	case is("WAIT") && end+1 < len(toks):
		l.clause, end = l.clause+" WAIT "+toks[end+1].name, end+2
	}
	return l, of, min(end, len(toks))
}

// lockedRows are the rows that a locking SELECT of one table can return, and the
// first of them, which are all that it locks if it has a LIMIT and no order by a
// counter: others take the next ones, as jobs from a queue.
func (a *analysis) lockedRows(stmt ast.StmtNode, named []*table) (rows, first []scope) {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || len(named) != 1 || s.From == nil || s.With != nil || a.countTables(stmt) != 1 {
		return allOf(named), nil
	}
	source := singleTable(s.From)
	if source == nil || a.target(source) == nil {
		return allOf(named), nil
	}
	t, name := named[0], nameOf(source)
	rows = []scope{a.scope(t, name, s.Where)}
	if s.Limit == nil || s.GroupBy != nil || s.Having != nil || s.Distinct || a.into || s.SelectIntoOpt != nil || hinted(source) || !rowByRow(s.Fields) ||
		s.Where != nil && rows[0].where == nil || s.OrderBy != nil && (a.readsVirtualIn(t, s.OrderBy) || a.sortKeys(s, t, name, false) == nil) {
		return rows, rows
	}
	if few := a.few(t, name, s.Where != nil, s.Limit); few != nil {
		return rows, []scope{*few}
	}
	return rows, rows
}

// maxKeyed bounds the rows that a query without a locking clause locks by their keys.
const maxKeyed = 8

// keyedRows are the rows of a query of one table that gives their keys; nil if it does not.
func (a *analysis) keyedRows(stmt ast.StmtNode, named []*table) []scope {
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
	return []scope{{t: named[0], name: nameOf(source), pins: pins}}
}

// few are the rows that a statement's condition, order and limit leave; nil if that
// can't be told.
func (a *analysis) few(t *table, name string, where bool, limit *ast.Limit) *scope {
	f, ok := a.tail(where)
	s := &scope{t: t, name: name, where: &f}
	for _, e := range []ast.ExprNode{limit.Count, limit.Offset} {
		if e != nil {
			v, constant := a.constant(e)
			s.limits, ok = append(s.limits, v), ok && constant
		}
	}
	if !ok {
		return nil
	}
	return s
}

// tail is a statement's condition, order and limit: what stands between WHERE, or the
// FROM clause, and the locks of a SELECT. ok is false where it stands in parentheses.
func (a *analysis) tail(where bool) (f fragment, ok bool) {
	start, end := -1, a.toks[len(a.toks)-1].end
	for i, t := range outermost(a.toks) {
		if locks(a.toks, i) || t.punct(';') || start >= 0 && t.is("RETURNING") && a.schema.server.mariaDB {
			end = a.toks[i-1].end
			break
		}
		switch {
		case start >= 0:
		case where && t.is("WHERE"):
			start = t.end
		case !where && (t.is("ORDER") || t.is("LIMIT") || t.is("FETCH")):
			start = t.start
		}
	}
	if start < 0 || end < start {
		return f, false
	}
	f = a.fragment(start, end)
	if !where {
		f.pieces[0] = "TRUE " + f.pieces[0]
	}
	return f, true
}
