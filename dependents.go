package countermysql

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// called keeps the dependents that a CALL may reach: what its arguments only read fires
// no trigger, and makes no foreign key act.
func (a *analysis) called(via []dependent) []dependent {
	quoted := slices.DeleteFunc(slices.Clone(a.toks), func(t token) bool { return t.kind != tokString && t.kind != tokVersion })
	_, run := a.schema.reach(quoted, a.text)
	return slices.DeleteFunc(slices.Clone(via), func(d dependent) bool {
		return !d.reads && !slices.ContainsFunc(run, func(r dependent) bool { return r.name == d.name })
	})
}

// through keeps the dependents that the parsed statement uses.
func (a *analysis) through(stmt ast.Node, via []dependent) []dependent {
	return slices.DeleteFunc(slices.Clone(via), func(d dependent) bool {
		return every(stmt, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TableName:
				db := n.Schema.O
				if db == "" {
					db = a.db
				}
				return a.schema.key(db, n.Name.O) != a.schema.key(d.db, d.name)
			case *ast.FuncCallExpr:
				return !strings.EqualFold(n.FnName.O, d.name) && !strings.EqualFold(n.Schema.O, d.name) // a package's
			}
			return true
		})
	})
}

// indirect plans a parsed statement, and what it does to counter tables through
// other objects.
func (a *analysis) indirect(stmt ast.StmtNode, named []*table, via []dependent) *plan {
	e := effectsOf(stmt)
	var touched, deleted []*table
	for _, d := range via {
		switch {
		case !a.fires(e, d):
		case d.hidden():
			return a.opaque(named, via, "the user may not see the definition of "+d.name)
		case d.reads:
			return a.opaque(named, via, "it reaches the table through "+d.name)
		case e.reads:
		case d.foreignKey && (!d.changesKey || !e.updates), !d.foreignKey && a.schema.relative(d.body, d.db):
			touched = append(touched, d.tables...)
			if d.foreignKey && e.deletes {
				deleted = append(deleted, d.tables...)
			}
		default:
			return a.opaque(named, via, "it writes the table through "+d.name)
		}
	}
	p := &plan{}
	if len(named) > 0 {
		if p = a.direct(stmt, named); slices.ContainsFunc(named, func(t *table) bool { return a.beyondSums(stmt, t, p) }) {
			o := a.opaque(named, via, "base row and slots do not add up to what it reads")
			o.cleaning = p.cleaning
			return o
		}
	}
	if len(touched) > 0 && p.class == counting { // it sets a counter that a foreign key references
		return a.opaque(named, via, "it writes the table through another one as well")
	}
	if len(touched) > 0 {
		p.writes, p.deletes = slices.Concat(p.writes, anyRow(touched)), with(p.deletes, deleted...)
	}
	return p
}

// beyondSums reports whether the statement, which has the plan, reads of a table what is
// right in the base rows alone.
func (a *analysis) beyondSums(stmt ast.StmtNode, t *table, p *plan) bool {
	return t.unsummed && p.class != refused && (p.query != nil || some(stmt, func(c *ast.ColumnName) bool { return findColumn(t.computed, c.Name.O) != nil }))
}

// effects are what a statement may do to the rows of the tables that it names.
type effects struct {
	reads                     bool // and writes none
	inserts, updates, deletes bool
	sets                      []*ast.Assignment // of its updates
}

func effectsOf(stmt ast.StmtNode) effects {
	switch s := stmt.(type) {
	case *ast.SelectStmt, *ast.SetOprStmt:
		return effects{reads: true}
	case *ast.InsertStmt:
		return effects{inserts: true, updates: s.IsReplace || s.OnDuplicate != nil, deletes: s.IsReplace, sets: s.OnDuplicate}
	case *ast.UpdateStmt:
		return effects{updates: true, sets: s.List}
	case *ast.DeleteStmt:
		return effects{deletes: true}
	}
	return effects{}
}

// fires reports whether a statement may fire a trigger of the tables that it names,
// or make a foreign key act.
func (a *analysis) fires(e effects, d dependent) bool {
	if d.event == "" && !d.foreignKey || d.kind != "" {
		return true
	}
	if d.event != "" {
		return e.inserts && strings.Contains(d.event, "INSERT") || e.updates && strings.Contains(d.event, "UPDATE") || e.deletes && strings.Contains(d.event, "DELETE")
	}
	if e.deletes || !e.updates {
		return e.deletes
	}
	parent := a.schema.lookup(d.db, d.name, "")
	if parent == nil || parent.column(d.column) == nil || parent.virtual(d.column) {
		return true
	}
	referenced := []*column{parent.column(d.column)}
	return slices.ContainsFunc(e.sets, func(set *ast.Assignment) bool { return parent.changes(referenced, set.Column.Name.O) })
}

// relative reports whether a trigger's body does nothing to counters but
// relative writes, which are right in either place.
func (s *schema) relative(body, db string) bool {
	toks := tokenize(body, lexMode{})
	if len(toks) > 2 && toks[0].is("BEGIN") && toks[len(toks)-1].is("END") {
		body = body[toks[0].end:toks[len(toks)-1].start]
		toks = tokenize(body, lexMode{})
	}
	for _, stmt := range statements(body, toks) {
		inner := &analysis{schema: s, text: stmt, db: db, toks: tokenize(stmt, lexMode{})}
		if k, _ := kindOf(inner.toks); k != kindOther {
			return false
		}
		p := inner.plan()
		if p.class != verbatim && p.class != counting || p.cleaning != nil || p.deletes != nil {
			return false
		}
		if parse(stmt, lexMode{}) == nil {
			return false
		}
		if p.increment == nil {
			continue
		}
		if _, ok := p.increment.bind(binder{}); !ok { // it takes from an UNSIGNED counter, say
			return false
		}
	}
	return true
}

// onlyReads reports whether the first word tells a query.
func (a *analysis) onlyReads() bool {
	for _, t := range a.toks {
		if !t.punct('(') {
			return t.is("SELECT") || t.is("TABLE") || t.is("VALUES")
		}
	}
	return true
}
