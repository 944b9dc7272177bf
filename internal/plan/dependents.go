package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// called keeps the dependents that a CALL may reach: what its arguments only read fires
// no trigger, and makes no foreign key act.
func (ns *namespace) called(via []catalog.Dependent) []catalog.Dependent {
	quoted := slices.DeleteFunc(slices.Clone(ns.toks), func(t sqltext.Token) bool { return t.Kind != sqltext.String && t.Kind != sqltext.Versioned })
	_, run := ns.schema.Reach(quoted, ns.text)
	return slices.DeleteFunc(slices.Clone(via), func(d catalog.Dependent) bool {
		return !d.Reads && !slices.ContainsFunc(run, func(r catalog.Dependent) bool { return r.Name == d.Name })
	})
}

// through keeps the dependents that the parsed statement uses.
func (ns *namespace) through(stmt ast.Node, via []catalog.Dependent) []catalog.Dependent {
	return slices.DeleteFunc(slices.Clone(via), func(d catalog.Dependent) bool {
		return every(stmt, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TableName:
				return ns.schema.Key(cmp.Or(n.Schema.O, ns.db), n.Name.O) != ns.schema.Key(d.DB, d.Name)
			case *ast.FuncCallExpr:
				return !strings.EqualFold(n.FnName.O, d.Name) && !strings.EqualFold(n.Schema.O, d.Name) // a package's
			}
			return true
		})
	})
}

// indirect plans a parsed statement, and what it does to counter tables through
// other objects.
func (a *analyzer) indirect(stmt ast.StmtNode, named []*catalog.Table, via []catalog.Dependent) *Plan {
	e := effectsOf(stmt)
	var touched, deleted []*catalog.Table
	for _, d := range via {
		switch {
		case !a.fires(e, d):
		case d.Hidden():
			return a.opaque(named, via, "the user may not see the definition of "+d.Name)
		case d.Reads:
			return a.opaque(named, via, "it reaches the table through "+d.Name)
		case e.reads:
		case d.ForeignKey && (!d.ChangesKey || !e.updates), !d.ForeignKey && relativeThrough(a.schema, d.Body, d.DB):
			touched = append(touched, d.Tables...)
			if d.ForeignKey && e.deletes {
				deleted = append(deleted, d.Tables...)
			}
		default:
			return a.opaque(named, via, "it writes the table through "+d.Name)
		}
	}
	p := &Plan{}
	if len(named) > 0 {
		if p = a.direct(stmt, named); slices.ContainsFunc(named, func(t *catalog.Table) bool { return beyondSums(stmt, t, p) }) {
			o := a.opaque(named, via, "base row and slots do not add up to what it reads")
			o.Sweep = p.Sweep
			return o
		}
	}
	if len(touched) > 0 && p.Class() == ClassIncrement { // it sets a counter that a foreign key references
		return a.opaque(named, via, "it writes the table through another one as well")
	}
	if len(touched) > 0 {
		p.Writes, p.Deletes = slices.Concat(p.Writes, anyRow(touched)), with(p.Deletes, deleted...)
	}
	return p
}

// beyondSums reports whether the statement, which has the plan, reads of a table what is
// right in the base rows alone.
func beyondSums(stmt ast.StmtNode, t *catalog.Table, p *Plan) bool {
	return t.Unsummed && p.Class() != ClassRefused && (p.Sum() != nil || some(stmt, func(c *ast.ColumnName) bool { return catalog.FindColumn(t.Computed, c.Name.O) != nil }))
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
func (ns *namespace) fires(e effects, d catalog.Dependent) bool {
	if d.Event == "" && !d.ForeignKey || d.Kind != "" {
		return true
	}
	if d.Event != "" {
		return e.inserts && strings.Contains(d.Event, "INSERT") || e.updates && strings.Contains(d.Event, "UPDATE") && (!d.Feeds || ns.sets(e, d)) || e.deletes && strings.Contains(d.Event, "DELETE")
	}
	if e.deletes || !e.updates {
		return e.deletes
	}
	parent := ns.schema.Lookup(d.DB, d.Name, "")
	if parent == nil || parent.Column(d.Column) == nil || parent.Virtual(d.Column) {
		return true
	}
	referenced := []*catalog.Column{parent.Column(d.Column)}
	return slices.ContainsFunc(e.sets, func(set *ast.Assignment) bool { return parent.Changes(referenced, set.Column.Name.O) })
}

// relativeThrough reports whether a trigger's body does nothing to counters but
// relative writes, which are right in either place.
func relativeThrough(s *catalog.Schema, body, db string) bool {
	toks := sqltext.Tokenize(body, sqltext.Mode{})
	if len(toks) > 2 && toks[0].Is("BEGIN") && toks[len(toks)-1].Is("END") {
		body = body[toks[0].End:toks[len(toks)-1].Start]
		toks = sqltext.Tokenize(body, sqltext.Mode{})
	}
	for _, stmt := range sqltext.Statements(body, toks) {
		inner := newAnalyzer(s, stmt, sqltext.Mode{}, db)
		if sqltext.EffectOf(inner.toks) != nil {
			return false
		}
		p := inner.plan(nil)
		if class := p.Class(); class != ClassVerbatim && class != ClassIncrement || p.Sweep != nil || p.Deletes != nil {
			return false
		}
		if parse(stmt, sqltext.Mode{}) == nil {
			return false
		}
		if inc := p.Increment(); inc != nil {
			if _, ok := inc.Bind(Binder{}); !ok { // it takes from an UNSIGNED counter, say
				return false
			}
		}
	}
	return true
}
