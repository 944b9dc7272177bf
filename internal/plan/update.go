package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
)

// update plans an UPDATE.
func (a *analyzer) update(stmt *ast.UpdateStmt, named []*catalog.Table) *Plan {
	node := singleTable(stmt.TableRefs)
	if node == nil || stmt.With != nil || stmt.MultipleTable {
		return a.joinedUpdate(stmt, named)
	}
	src := a.sourceOf(node)
	t := src.t
	if t == nil {
		return a.readToWrite(stmt, named)
	}
	if len(named) > 1 || a.countTables(stmt) > 1 {
		if p := a.readBeside(stmt, []*catalog.Table{t}, named, src.reads(stmt)...); p != nil {
			p.Exactly().Whole = slices.ContainsFunc(stmt.List, func(set *ast.Assignment) bool { return t.Changes(t.Key, set.Column.Name.O) })
			return p
		}
	}
	s := src.settings(stmt.List, false)
	pins := src.pins(stmt.Where)
	p := &Plan{Changes: Changes{Writes: []WriteTarget{{Table: t, Pins: pins, Rekeys: s.unique, Updates: true, Reads: readsAll(stmt)}}}}
	x := &Exact{Rows: []RowSet{src.rows(stmt.Where)}}
	switch {
	case s.reason == "" && readsVirtualIn(t, stmt.Where, stmt.Order, stmt.Limit):
		s.reason = "its condition or order needs a counter"
	case s.reason == "" && s.deltas != nil:
		s.reason = t.Watched()
	}
	if s.reason != "" {
		p.Reason, p.Work = s.reason, x
		src.exactUpdate(stmt, s, p, x)
		return p
	}
	if s.deltas == nil {
		p.Work = &Update{s.touch, x}
		return p
	}
	inc := &Increment{Table: t, Name: src.name, Deltas: s.deltas, Touch: s.touch, Ignores: a.mayIgnore(stmt.IgnoreErr), Exact: x}
	p.Work = inc
	if p.Reason = src.onBase(stmt, s, inc, pins); p.Reason != "" {
		inc.BaseOnly = true
		return p
	}
	inc.matches(src, stmt.Where, pins)
	if inc.One && stmt.Where != nil && slices.ContainsFunc(s.deltas, func(d Delta) bool { return d.subtract && d.C.Unsigned() }) {
		x.Guarded = src.guard(stmt.Where) // it runs the exact way
		x.Guard = src.bounded(stmt, x, pins[0])
	}
	return p
}

// onBase says why what an UPDATE adds goes to base rows, and not to slots; "": it goes to
// slots.
func (src source) onBase(stmt *ast.UpdateStmt, s settings, inc *Increment, pins []KeyValue) string {
	t := src.t
	switch {
	case s.ordinary:
		return "it sets other columns than counters and touch columns"
	case stmt.Order != nil || stmt.Limit != nil:
		return "it has ORDER BY or LIMIT"
	case inc.Ignores:
		return "by IGNORE, or by a hint, it may cut what it adds"
	case t.Derived:
		return "a generated column is made of a touch column"
	case hinted(src.node):
		return "it names indexes or partitions"
	case src.astray(stmt):
		return "it names a column of another table"
	case pins == nil:
		return "its condition does not give a primary or unique key by = or IN"
	case stmt.Where != nil && !src.plain(stmt.Where):
		return "its condition has more than columns of the row and constants"
	case len(t.Key) == 0 && stmt.Where != nil:
		return "it has a condition, and the table no key"
	case s.wanted != nil:
		inc.Wanted = s.wanted
		return "it sets " + s.wanted[0].C.Name + ", which is no touch column yet"
	}
	return ""
}

// exactUpdate completes the plan of an UPDATE that has to run the exact way.
func (src source) exactUpdate(stmt *ast.UpdateStmt, s settings, p *Plan, x *Exact) {
	t, rows, pins := src.t, x.Rows[0], p.Writes[0].Pins
	x.Discards = src.overwritten(t, stmt.List, stmt.Where, stmt.Order, stmt.Limit)
	x.Restriction = src.restriction(rows, stmt.Where, stmt.Order, stmt.Limit)
	if s.rekeyed {
		x.Whole = rows.Where == nil && rows.Pins == nil
		to := src.newKey(stmt.List)
		p.Sweep = &OrphanSweep{Table: t, Pins: to}
		if to == nil || !slices.Equal(t.Key, keyColumns(pins)) {
			p.Writes[0].Pins = nil
		} else {
			p.Writes[0] = WriteTarget{Table: t, Pins: slices.Concat(pins, to), Moves: true, Updates: true}
		}
	}
	if len(pins) == 1 && stmt.Where != nil && !s.rekeyed {
		x.Guarded = src.guard(stmt.Where)
		x.Guard = src.bounded(stmt, x, pins[0])
		x.Overwrites = len(x.Discards) == len(stmt.List) && !t.UpdateTriggers && t.Degraded == nil && !src.actsTwice()
	}
}

// readsAll reports whether an UPDATE reads all columns that it sets.
func readsAll(stmt *ast.UpdateStmt) bool {
	if some(stmt, func(*ast.SubqueryExpr) bool { return true }) {
		return false // its columns may be another table's
	}
	read := map[string]bool{}
	note := func(n ast.Node) bool {
		if c, ok := n.(*ast.ColumnName); ok {
			read[c.Name.L] = true
		}
		return true
	}
	for _, set := range stmt.List {
		every(set.Expr, note)
	}
	if stmt.Where != nil {
		every(stmt.Where, note)
	}
	return !slices.ContainsFunc(stmt.List, func(set *ast.Assignment) bool { return !read[set.Column.Name.L] })
}

// settings is what the assignments of an UPDATE do.
type settings struct {
	deltas   []Delta
	touch    []Touch
	wanted   []Touch // of columns whose times slots can't take yet
	ordinary bool    // sets another column
	rekeyed  bool    // sets a key column
	unique   bool    // sets a column of a unique key
	reason   string  // why only the exact way is right
}

// settings reads assignments; only those of an INSERT have VALUES(c).
func (src source) settings(list []*ast.Assignment, inserts bool) settings {
	t := src.t
	var s settings
	because := func(reason string) {
		if s.reason == "" {
			s.reason = reason
		}
	}
	for _, set := range list {
		c := t.Column(set.Column.Name.O)
		switch {
		case c == nil, !src.means(set.Column.Table.O, src.name):
			s.ordinary = true // the server will say what is wrong
		case t.Counter(c.Name) != nil:
			d, ok := src.relative(c, set.Expr)
			if !ok || d.inserted && !inserts {
				because("it overwrites counter " + c.Name)
			}
			for _, other := range s.deltas {
				if other.C == c {
					because("it sets counter " + c.Name + " twice")
				}
			}
			s.deltas = append(s.deltas, d)
		case t.Virtual(c.Name):
			touched, ok := src.params.touchOf(c, set.Expr)
			if !ok {
				because("it sets touch column " + c.Name + " to another time than now")
			}
			s.touch = append(s.touch, touched)
			if c.Settles {
				s.wanted = append(s.wanted, touched)
			}
		case src.keeps(c, set.Expr):
			s.ordinary = true
		default:
			if touched, ok := src.params.touchOf(c, set.Expr); ok && c.Touchable {
				s.wanted = append(s.wanted, touched)
				continue
			}
			s.ordinary = true
			for _, k := range t.Unique {
				s.unique = s.unique || t.Changes(k.Columns, c.Name)
			}
			if t.Changes(t.Key, c.Name) {
				s.rekeyed = true
				because("it changes the key")
			}
			if readsVirtualIn(t, set.Expr) {
				because("column " + c.Name + " is set from a counter")
			}
		}
	}
	return s
}

// keeps reads c = c and c = LAST_INSERT_ID(c), with which upserts ask for the id of
// the row that they meet.
func (src source) keeps(c *catalog.Column, e ast.ExprNode) bool {
	if f, ok := unparen(e).(*ast.FuncCallExpr); ok && f.FnName.L == "last_insert_id" && f.Schema.O == "" && len(f.Args) == 1 {
		e = f.Args[0]
	}
	ref, ok := columnRef(e)
	return ok && strings.EqualFold(ref.Name.O, c.Name) && src.means(ref.Table.O, src.name) && !src.aliased(ref)
}

// deletion plans a DELETE: the slots go with the rows.
func (a *analyzer) deletion(stmt *ast.DeleteStmt, named []*catalog.Table) *Plan {
	node := singleTable(stmt.TableRefs)
	if node == nil || stmt.With != nil || stmt.IsMultiTable || a.target(node) == nil || len(named) > 1 || a.countTables(stmt) > 1 {
		if p := a.joinedDelete(stmt, named); p != nil {
			return p
		}
	}
	src := a.sourceOf(node)
	t, rows, pins := src.t, src.rows(stmt.Where), src.pins(stmt.Where)
	x := &Exact{Rows: []RowSet{rows}, Discards: a.gone(t, stmt), Restriction: src.restriction(rows, stmt.Where, stmt.Order, stmt.Limit)}
	if rows.Where == nil && rows.Pins == nil && (readsVirtualIn(t, stmt.Where, stmt.Order, stmt.Limit) || a.returns(t)) {
		if x.Whole = stmt.Where == nil || !src.local(stmt.Where); !x.Whole {
			by := a.fragment(a.whereSpan())
			x.Restriction = src.restrict(stmt.Where)
			x.Restriction.By = &by
		}
	}
	if len(pins) == 1 && stmt.Where != nil && node.AsName.O == "" {
		x.Guarded = src.guard(stmt.Where)
	}
	return &Plan{Reason: "the slots go with the row", Changes: Changes{Writes: []WriteTarget{{Table: t, Pins: pins}}}, Work: x}
}

// newKey is the key that assignments give a row, if the key is one column and
// they say it outright.
func (src source) newKey(list []*ast.Assignment) []KeyValue {
	t := src.t
	if len(t.Key) != 1 {
		return nil
	}
	for _, set := range list {
		if strings.EqualFold(set.Column.Name.O, t.Key[0].Name) {
			if v, ok := src.params.constant(set.Expr); ok {
				return []KeyValue{{t.Key, []Operand{v}, true}}
			}
		}
	}
	return nil
}

func keyColumns(pins []KeyValue) []*catalog.Column {
	if len(pins) == 0 {
		return nil
	}
	return pins[0].Columns
}
