package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/sqltext"
)

// lockings notes with each table how it is locked. A view can't be named behind OF:
// the edits take its name out of there. ok is false where that can't be followed.
func (rw rewriter) lockings(stmt ast.Node, refs []tableRef) (edits []edit, ok bool) {
	clauses := rw.parsed.moreLocks
	every(stmt, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectStmt); ok && s.LockInfo != nil && s.LockInfo.LockType != ast.SelectLockNone {
			clauses++
		}
		return true
	})
	sels := sqltext.Nest[int]{-1}
	for i := 0; i < len(rw.toks) && clauses > 0; i++ {
		switch t := rw.toks[i]; {
		case sels.Follow(t, -1):
		case t.Is("SELECT"):
			*sels.Top() = i
		case t.Is("UNION"), t.Is("INTERSECT"), t.Is("EXCEPT"):
			*sels.Top() = -1
		case sqltext.Locks(rw.toks, i):
			if *sels.Top() < 0 {
				return nil, false
			}
			edits = append(edits, rw.lock(i, *sels.Top(), refs)...)
			clauses--
		}
	}
	return edits, clauses == 0
}

// lock notes what the clause at token i locks of the SELECT at token sel.
func (rw rewriter) lock(i, sel int, refs []tableRef) []edit {
	toks := rw.toks
	l, of, end := sqltext.ReadLock(toks, i)
	var named, others []string
	for _, at := range of {
		name := toks[at[1]].Name
		switch r := slices.IndexFunc(refs, func(r tableRef) bool { return r.sel == sel && rw.means(name, r.name) }); {
		case r >= 0 && refs[r].locks.Clause != "":
			return nil // named twice, which the server refuses
		case r >= 0:
			refs[r].locks = l
			named = append(named, name)
		default:
			others = append(others, rw.text[toks[at[0]].Start:toks[at[1]].End])
		}
	}
	for n := range refs {
		if of == nil && refs[n].sel == sel {
			refs[n].locks = l
		}
	}
	switch {
	case named == nil || rw.server.MariaDB: // which has no OF
		return nil
	case others == nil:
		return []edit{{toks[i].Start, toks[end-1].End, "", nil}}
	}
	return []edit{{toks[of[0][0]].Start, toks[of[len(of)-1][1]].End, strings.Join(others, ", "), nil}}
}

// few are the rows that a statement's condition, order and limit leave; nil if that
// can't be told.
func (src source) few(where bool, limit *ast.Limit) *RowSet {
	f, ok := src.tail(where)
	s := &RowSet{Table: src.t, Name: src.name, Where: &f}
	for _, e := range []ast.ExprNode{limit.Count, limit.Offset} {
		if e != nil {
			v, constant := src.params.constant(e)
			s.limits, ok = append(s.limits, v), ok && constant
		}
	}
	if !ok {
		return nil
	}
	return s
}
