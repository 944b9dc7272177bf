package plan

import (
	"cmp"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// readBeside is the exact plan of a statement that writes some tables and may read the
// counters of these, or of others that it names; nil if the parts given read none.
func (a *analyzer) readBeside(stmt ast.Node, written, named []*catalog.Table, parts ...ast.Node) *Plan {
	read := a.countersRead(stmt, named, parts...)
	if len(read) == 0 {
		return nil
	}
	return a.exactOf(written, read, "it reads a counter in a join or a subquery")
}

// exactOf is the exact way for a statement that writes some tables and reads the counters
// of others.
func (a *analyzer) exactOf(written, read []*catalog.Table, reason string) *Plan {
	p := a.opaque(with(written, read...), nil, reason)
	if p.Writes = nil; len(written) > 0 {
		p.Writes = anyRow(written)
	}
	return p
}

// joinedUpdate plans an UPDATE of several tables: relative or exact. What it adds to a
// counter is as right in the base row.
func (a *analyzer) joinedUpdate(stmt *ast.UpdateStmt, named []*catalog.Table) *Plan {
	if stmt.With != nil {
		return a.opaque(named, nil, "it has a common table expression")
	}
	from := a.joined(stmt.TableRefs)
	parts := []ast.Node{stmt.TableRefs, stmt.Where, stmt.Order, stmt.Limit}
	var s settings
	var written []*catalog.Table
	var adds *catalog.Table
	for _, set := range stmt.List {
		of := a.setIn(set.Column, from)
		if of.t == nil || of.t.Column(set.Column.Name.O) == nil {
			parts = append(parts, set.Expr)
			continue
		}
		written = with(written, of.t)
		one := of.settings([]*ast.Assignment{set}, false)
		if one.reason != "" || one.deltas == nil {
			parts = append(parts, set.Expr)
		}
		if one.reason == "" && of.t.Watched() != "" && one.deltas != nil {
			one.reason = of.t.Watched()
		}
		s.reason = cmp.Or(s.reason, one.reason)
		if adds == nil && one.deltas != nil {
			adds = of.t
		}
		s.deltas, s.touch = append(s.deltas, one.deltas...), append(s.touch, one.touch...)
		s.rekeyed, s.cutsKey = s.rekeyed || one.rekeyed, s.cutsKey || one.cutsKey
	}
	p := a.readBeside(stmt, written, named, parts...)
	if p == nil && s.reason != "" {
		p = a.exactOf(written, nil, s.reason)
	}
	if p != nil {
		x := p.Exactly()
		x.Whole = s.rekeyed
		if len(named) == 1 && len(written) == 1 {
			x.Discards = a.overwritten(written[0], stmt.List, stmt.TableRefs, stmt.Where, stmt.Order, stmt.Limit)
		}
		return p
	}
	p = &Plan{Changes: Changes{Writes: anyRow(written)}}
	for i := range p.Writes {
		p.Writes[i].Updates = true
	}
	x := &Exact{Rows: allOf(written)}
	if s.deltas == nil {
		p.Work = &Update{s.touch, x, s.cutsKey}
	} else {
		p.Reason = "it updates a join"
		p.Work = &Increment{Table: adds, Deltas: s.deltas, Touch: s.touch, Ignores: a.mayIgnore(stmt.IgnoreErr), Exact: x, cutsKey: s.cutsKey, BaseOnly: true}
	}
	return p
}
