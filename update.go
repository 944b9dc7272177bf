package countermysql

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// increment is a relative write on one table that can go to slots.
type increment struct {
	t     *table
	name  string // what where calls the table
	where fragment
	keys  int  // how many rows where can match; 0: not known
	one   bool // where matches one row at most
	byKey bool // where gives the key itself: a row under another key is another row

	narrowed bool         // where has more than the key
	ignores  bool         // a number out of range may be cut: IGNORE, or a hint that sets the sql_mode
	compares []comparison // of a narrowed where
	doubtful bool         // which does more than compare
	deltas   []delta
	touch    []touch
	rows     []upsertRow // the rows of an upsert; then where is empty

	text          template // of one row, outside a transaction; nil: it may match more
	directly      template // the same for the base row
	used, touched []int    // its counters and touch columns

	pins  []pin     // the keys that where gives
	batch *batch    // where others' increments may come along; nil: nowhere
	pin   pin       // the key that where gives
	rest  *fragment // where, with the key's parameters read from the batch; nil: the key is all
}

// update plans an UPDATE.
func (a *analysis) update(stmt *ast.UpdateStmt, named []*table) *plan {
	source := singleTable(stmt.TableRefs)
	if source == nil || stmt.With != nil || stmt.MultipleTable {
		return a.joinedUpdate(stmt, named)
	}
	t, name := a.target(source), nameOf(source)
	if t == nil {
		return a.readToWrite(stmt, named)
	}
	if len(named) > 1 || a.countTables(stmt) > 1 {
		if p := a.readBeside(stmt, []*table{t}, named, a.updateReads(stmt, t, name)...); p != nil {
			p.whole = slices.ContainsFunc(stmt.List, func(set *ast.Assignment) bool { return t.changes(t.key, set.Column.Name.O) })
			return p
		}
		named = []*table{t}
	}
	s := a.settings(stmt.List, t, name, false)
	pins := a.pins(t, name, stmt.Where)
	p := &plan{
		reads:   named,
		touches: s.touch,
		scopes:  []scope{a.scope(t, name, stmt.Where)},
		writes:  []write{{t: t, pins: pins, rekeys: s.unique, updates: true, reads: readsAll(stmt)}},
	}
	switch {
	case s.reason == "" && a.readsVirtualIn(t, stmt.Where, stmt.Order, stmt.Limit):
		s.reason = "its condition or order needs a counter"
	case s.reason == "" && s.deltas != nil:
		s.reason = t.watched()
	}
	if s.reason != "" {
		a.exactUpdate(stmt, source, s, p)
		return p
	}
	if s.deltas != nil {
		p.increment = &increment{t: t, name: name, deltas: s.deltas, touch: s.touch, ignores: a.mayIgnore(stmt.IgnoreErr)}
	}
	if s.deltas == nil || s.ordinary || stmt.Order != nil || stmt.Limit != nil || p.increment.ignores || t.derived || hinted(source) || a.astray(stmt, t, name) ||
		pins == nil || stmt.Where != nil && !a.plain(stmt.Where, t, name) || len(t.key) == 0 && stmt.Where != nil {
		p.reads = nil // verbatim: what it adds is as right in the base row
		return p
	}
	if s.wanted != nil {
		p.reads, p.wanted = nil, s.wanted
		return p
	}
	p.class = counting
	p.increment.matches(a, stmt.Where, pins)
	if p.increment.one && stmt.Where != nil && slices.ContainsFunc(s.deltas, func(d delta) bool { return d.subtract && d.c.unsigned() }) {
		p.guarded = a.guard(t, name, stmt.Where) // it runs the exact way
	}
	return p
}

// matches prepares the increment of the rows that a condition with such keys matches.
func (inc *increment) matches(a *analysis, where ast.ExprNode, pins []pin) {
	inc.one, inc.keys = len(pins) == 1, len(pins)
	inc.byKey = slices.Equal(pins[0].cols, inc.t.key)
	inc.where = fragment{pieces: []string{"TRUE"}}
	if where != nil {
		inc.where = a.fragment(a.whereSpan())
	}
	inc.pins = pins
	if inc.narrowed = len(conjuncts(where)) > len(pins[0].cols); inc.narrowed {
		all, ok := a.comparisons(inc.t, inc.name, where)
		inc.compares, inc.doubtful = all, !ok
	}
	if inc.one {
		inc.prepare()
		inc.mayJoin(pins[0])
	}
}

// exactUpdate completes the plan of an UPDATE that has to run the exact way.
func (a *analysis) exactUpdate(stmt *ast.UpdateStmt, source *ast.TableSource, s settings, p *plan) {
	t, name, pins := p.scopes[0].t, p.scopes[0].name, p.writes[0].pins
	p.discards = a.overwritten(t, stmt.List, stmt.Where, stmt.Order, stmt.Limit)
	p.class, p.reason, p.narrowing = exact, s.reason, a.narrowing(p.scopes[0], source, stmt.Where, stmt.Order, stmt.Limit)
	if s.rekeyed {
		p.whole = p.scopes[0].where == nil && p.scopes[0].pins == nil
		to := a.newKey(stmt.List, t)
		p.cleaning = &cleaning{t: t, pins: to}
		if to == nil || !slices.Equal(t.key, keyColumns(pins)) {
			p.writes[0].pins = nil
		} else {
			p.writes[0] = write{t: t, pins: slices.Concat(pins, to), moves: true, updates: true}
		}
	}
	if len(pins) == 1 && stmt.Where != nil && !s.rekeyed {
		p.guarded = a.guard(t, name, stmt.Where)
		p.overwrites = len(p.discards) == len(stmt.List) && len(p.scopes) == 1 && !t.updateTriggers && t.degraded == nil && !a.actsTwice()
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

// mayIgnore reports whether the statement may cut what the session would refuse:
// by IGNORE, or by a hint that sets variables for it.
func (a *analysis) mayIgnore(ignore bool) bool {
	return ignore || slices.ContainsFunc(a.toks, func(t token) bool {
		return t.kind == tokHint && strings.Contains(strings.ToUpper(a.text[t.start:t.end]), "SET_VAR")
	})
}

// hinted reports whether partitions or indexes are named, which have to exist.
func hinted(source *ast.TableSource) bool {
	name := source.Source.(*ast.TableName)
	return len(name.PartitionNames) > 0 || len(name.IndexHints) > 0
}

// astray reports whether a column is said to be of another table than that which
// the statement calls name, or in another database.
func (a *analysis) astray(stmt ast.Node, t *table, name string) bool {
	return some(stmt, func(c *ast.ColumnName) bool {
		ours := c.Table.O == "" || a.alias != "" && c.Table.O == a.alias ||
			a.means(c.Table.O, name) && (c.Schema.O == "" || a.schema.lookup(c.Schema.O, c.Table.O, "") == t)
		return !ours
	})
}

// settings is what the assignments of an UPDATE do.
type settings struct {
	deltas   []delta
	touch    []touch
	wanted   []touch // of columns whose times slots can't take yet
	ordinary bool    // sets another column
	rekeyed  bool    // sets a key column
	unique   bool    // sets a column of a unique key
	reason   string  // why only the exact way is right
}

// settings reads assignments; only those of an INSERT have VALUES(c).
func (a *analysis) settings(list []*ast.Assignment, t *table, name string, inserts bool) settings {
	var s settings
	because := func(reason string) {
		if s.reason == "" {
			s.reason = reason
		}
	}
	for _, set := range list {
		c := t.column(set.Column.Name.O)
		switch {
		case c == nil, !a.means(set.Column.Table.O, name):
			s.ordinary = true // the server will say what is wrong
		case t.counter(c.name) != nil:
			d, ok := a.relative(c, name, set.Expr)
			if !ok || d.inserted && !inserts {
				because("it overwrites counter " + c.name)
			}
			for _, other := range s.deltas {
				if other.c == c {
					because("it sets counter " + c.name + " twice")
				}
			}
			s.deltas = append(s.deltas, d)
		case t.virtual(c.name):
			touched, ok := a.touchOf(c, set.Expr)
			if !ok {
				because("it sets touch column " + c.name + " to another time than now")
			}
			s.touch = append(s.touch, touched)
			if c.settles {
				s.wanted = append(s.wanted, touched)
			}
		case a.keeps(c, name, set.Expr):
			s.ordinary = true
		default:
			if touched, ok := a.touchOf(c, set.Expr); ok && c.touchable {
				s.wanted = append(s.wanted, touched)
				continue
			}
			s.ordinary = true
			for _, k := range t.unique {
				s.unique = s.unique || t.changes(k.cols, c.name)
			}
			if t.changes(t.key, c.name) {
				s.rekeyed = true
				because("it changes the key")
			}
			if a.readsVirtualIn(t, set.Expr) {
				because("column " + c.name + " is set from a counter")
			}
		}
	}
	return s
}

// keeps reads c = c and c = LAST_INSERT_ID(c), with which upserts ask for the id of
// the row that they meet.
func (a *analysis) keeps(c *column, name string, e ast.ExprNode) bool {
	if f, ok := unparen(e).(*ast.FuncCallExpr); ok && f.FnName.L == "last_insert_id" && f.Schema.O == "" && len(f.Args) == 1 {
		e = f.Args[0]
	}
	ref, ok := columnRef(e)
	return ok && strings.EqualFold(ref.Name.O, c.name) && a.means(ref.Table.O, name) && !a.aliased(ref)
}

// readsVirtualIn reports whether any of the nodes names a counter or touch
// column of t. Columns of other tables in subqueries count as well: that is exact.
func (a *analysis) readsVirtualIn(t *table, nodes ...ast.Node) bool {
	for _, n := range nodes {
		if isNil(n) {
			continue
		}
		if some(n, func(c *ast.ColumnName) bool { return t.virtual(c.Name.O) }) {
			return true
		}
	}
	return false
}

func isNil(n ast.Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *ast.OrderByClause:
		return n == nil
	case *ast.Limit:
		return n == nil
	}
	return false
}

// deletion plans a DELETE: the slots go with the rows.
func (a *analysis) deletion(stmt *ast.DeleteStmt, named []*table) *plan {
	source := singleTable(stmt.TableRefs)
	if source == nil || stmt.With != nil || stmt.IsMultiTable || a.target(source) == nil || len(named) > 1 || a.countTables(stmt) > 1 {
		if p := a.joinedDelete(stmt, named); p != nil {
			return p
		}
		named = []*table{a.target(source)}
	}
	t, name := a.target(source), nameOf(source)
	p := &plan{class: exact, reason: "the slots go with the row", reads: named, scopes: []scope{a.scope(t, name, stmt.Where)}, writes: anyRow(named)}
	p.discards = a.gone(t, stmt)
	pins := a.pins(t, name, stmt.Where)
	p.writes[0].pins, p.narrowing = pins, a.narrowing(p.scopes[0], source, stmt.Where, stmt.Order, stmt.Limit)
	if s := p.scopes[0]; s.where == nil && s.pins == nil && (a.readsVirtualIn(t, stmt.Where, stmt.Order, stmt.Limit) || a.returns(t)) {
		if p.whole = stmt.Where == nil || !a.local(stmt.Where, t, name); !p.whole {
			by := a.fragment(a.whereSpan())
			p.narrowing = a.narrowed(s, stmt.Where)
			p.narrowing.by = &by
		}
	}
	if len(pins) == 1 && stmt.Where != nil && source.AsName.O == "" {
		p.guarded = a.guard(t, name, stmt.Where)
	}
	return p
}

// newKey is the key that assignments give a row, if the key is one column and
// they say it outright.
func (a *analysis) newKey(list []*ast.Assignment, t *table) []pin {
	if len(t.key) != 1 {
		return nil
	}
	for _, set := range list {
		if strings.EqualFold(set.Column.Name.O, t.key[0].name) {
			if v, ok := a.constant(set.Expr); ok {
				return []pin{{t.key, []value{v}, true}}
			}
		}
	}
	return nil
}

func keyColumns(pins []pin) []*column {
	if len(pins) == 0 {
		return nil
	}
	return pins[0].cols
}
