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
	clauses := 0
	every(stmt, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectStmt); ok && s.LockInfo != nil && s.LockInfo.LockType != ast.SelectLockNone {
			clauses++
		}
		return true
	})
	sels := []int{-1} // of the query and of each parenthesis that is open
	for i := 0; i < len(a.toks) && clauses > 0; i++ {
		last := len(sels) - 1
		switch t := a.toks[i]; {
		case t.punct('('):
			sels = append(sels, -1)
		case t.punct(')') && last > 0:
			sels = sels[:last]
		case t.is("SELECT"):
			sels[last] = i
		case t.is("UNION"), t.is("INTERSECT"), t.is("EXCEPT"):
			sels[last] = -1
		case locks(a.toks, i):
			if sels[last] < 0 {
				return nil, false
			}
			edits = append(edits, a.lock(i, sels[last], refs)...)
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

// lock reads the clause at token i of the SELECT at token sel.
func (a *analysis) lock(i, sel int, refs []tableRef) []edit {
	toks, at := a.toks, i+2
	is := func(w string) bool { return at < len(toks) && toks[at].is(w) }
	l := locking{"FOR UPDATE", !toks[i+1].is("UPDATE")}
	if toks[i].is("LOCK") {
		at = i + 4 // LOCK IN SHARE MODE
	}
	all, list := !is("OF"), at+1
	var named, others []string
	for at++; !all && at < len(toks); at++ {
		start := at
		if at+2 < len(toks) && toks[at+1].punct('.') {
			at += 2
		}
		name := toks[at].name
		if slices.ContainsFunc(refs, func(r tableRef) bool { return r.sel == sel && a.means(name, r.name) }) {
			named = append(named, name)
		} else {
			others = append(others, a.text[toks[start].start:toks[at].end])
		}
		if at++; at == len(toks) || !toks[at].punct(',') {
			break
		}
	}
	listed := at - 1
	if all {
		at = list - 1
	}
	switch {
	case is("NOWAIT"):
		l.clause, at = l.clause+" NOWAIT", at+1
	case is("SKIP"):
		l.clause, at = l.clause+" SKIP LOCKED", at+2
	case is("WAIT") && at+1 < len(toks):
		l.clause, at = l.clause+" WAIT "+toks[at+1].name, at+2
	}
	for n := range refs {
		if r := &refs[n]; r.sel == sel && (all || slices.ContainsFunc(named, func(name string) bool { return a.means(name, r.name) })) {
			r.locks = l
		}
	}
	switch {
	case named == nil:
		return nil
	case others == nil:
		return []edit{{toks[i].start, toks[min(at, len(toks))-1].end, "", nil}}
	}
	return []edit{{toks[list].start, toks[listed].end, strings.Join(others, ", "), nil}}
}
