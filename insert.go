package countermysql

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// upsertRow is one row of the application's own upsert.
type upsertRow struct {
	key    pin
	values []insertedValue // of the counters, to be checked as an INSERT would
	deltas []delta
}

type insertedValue struct {
	c *column
	v value
}

// insertion plans INSERT and REPLACE.
func (a *analysis) insertion(stmt *ast.InsertStmt, named []*table) *plan {
	source := singleTable(stmt.Table)
	if source == nil {
		return a.opaque(named, nil, "its target could not be followed")
	}
	t := a.target(source)
	if t == nil {
		p := a.readToWrite(stmt, named)
		if from, ok := stmt.Select.(ast.StmtNode); ok && p.query != nil && p.query.locking {
			_, p.query.first = a.lockedRows(from, named)
		} else if ok && p.query != nil {
			p.query.keyed = a.keyedRows(from, named)
		}
		return p
	}
	if stmt.Select != nil {
		return a.insertFromQuery(stmt, t, named)
	}
	if len(named) > 1 || a.countTables(stmt) > 0 {
		if stmt.IsReplace || stmt.OnDuplicate != nil || len(a.countersRead(stmt, named, values(stmt)...)) > 0 {
			return a.opaque(named, nil, "it reads a counter table in a subquery")
		}
		named = []*table{t}
	}
	if len(t.key) == 0 {
		return a.opaque(named, nil, "a keyless table must not grow")
	}
	cols := a.insertedColumns(stmt, t)
	if cols == nil {
		return a.opaque(named, nil, "its columns could not be followed")
	}
	p := &plan{cleaning: a.namedKeys(stmt, t, cols), writes: []write{{t: t}}}
	if p.cleaning == nil {
		p.writes = nil // new ids: nobody has seen the rows
	} else {
		p.writes[0].pins = p.cleaning.pins
	}
	switch {
	case stmt.IsReplace:
		p.reason = "it replaces rows"
	case stmt.OnDuplicate == nil:
		return p
	default:
		p.reason = a.upsert(stmt, t, cols, p)
	}
	if p.writes == nil {
		p.writes = []write{{t: t}}
	}
	p.scopes = []scope{a.conflicts(stmt, t, cols)}
	if t.allUnique > 1 && p.writes[0].pins != nil { // another key may decide which row it is
		p.writes[0].pins = p.scopes[0].pins
	}
	p.writes[0].upserts = stmt.OnDuplicate != nil
	if p.reason != "" {
		p.class, p.reads, p.discards = exact, named, a.replaced(stmt, t)
		p.increment = nil
		if stmt.IsReplace && t.allUnique > 1 {
			p.writes[0].pins = nil // rows may go that it does not name
		}
	}
	return p
}

// replaced are the counters that an INSERT or REPLACE does away with.
func (a *analysis) replaced(stmt *ast.InsertStmt, t *table, rest ...ast.Node) []*column {
	rest = append(rest, values(stmt)...)
	if stmt.IsReplace {
		return a.gone(t, rest...)
	}
	return a.overwritten(t, stmt.OnDuplicate, rest...)
}

// values are the values that the rows of VALUES have.
func values(stmt *ast.InsertStmt) (all []ast.Node) {
	for _, row := range stmt.Lists {
		for _, e := range row {
			all = append(all, e)
		}
	}
	return all
}

func (a *analysis) insertFromQuery(stmt *ast.InsertStmt, t *table, named []*table) *plan {
	p := &plan{cleaning: &cleaning{t: t}, writes: []write{{t: t}}}
	if stmt.IsReplace || stmt.OnDuplicate != nil || len(t.key) == 0 {
		o := a.opaque(named, nil, "rows from a query may replace others")
		if len(t.key) > 0 {
			o.cleaning = p.cleaning
		}
		if len(named) == 1 {
			o.discards = a.replaced(stmt, t, stmt.Select)
		}
		return o
	}
	q, other := a.sums(stmt.Select, named)
	if other != nil {
		other.cleaning = p.cleaning
		return other
	}
	if q != nil && a.countTables(stmt) > 0 {
		p.class, p.query, p.reads, p.scopes = summing, q, named, allOf(named)
		if from, ok := stmt.Select.(ast.StmtNode); ok && !q.locking {
			q.keyed = a.keyedRows(from, named)
		}
	}
	return p
}

// insertedColumns are the columns that the rows of VALUES fill, in their order.
func (a *analysis) insertedColumns(stmt *ast.InsertStmt, t *table) []*column {
	var cols []*column
	if len(stmt.Columns) == 0 && !stmt.Setlist {
		for _, c := range t.cols {
			if !c.invisible {
				cols = append(cols, c)
			}
		}
	}
	for _, name := range stmt.Columns {
		c := t.column(name.Name.O)
		if c == nil || slices.Contains(cols, c) {
			return nil
		}
		cols = append(cols, c)
	}
	for _, row := range stmt.Lists {
		if len(row) != len(cols) && len(row) > 0 {
			return nil
		}
	}
	return cols
}

// namedKeys are the keys that the rows name; nil if the server makes new ones.
func (a *analysis) namedKeys(stmt *ast.InsertStmt, t *table, cols []*column) *cleaning {
	named := &cleaning{t: t}
	if t.makesKeys {
		return named
	}
	for _, row := range stmt.Lists {
		p, generated, ok := a.rowKey(row, cols, t.key)
		switch {
		case generated:
		case !ok:
			return &cleaning{t: t}
		default:
			named.pins = append(named.pins, p)
		}
	}
	switch {
	case named.pins == nil:
		return nil
	case len(named.pins) > maxPins: // the server would compare each slot with each of them
		return &cleaning{t: t}
	}
	return named
}

// rowKey reads the values of a unique key from one row of VALUES. generated
// means that no row can have it yet: AUTO_INCREMENT makes it, or it has a NULL.
func (a *analysis) rowKey(row []ast.ExprNode, cols, key []*column) (p pin, generated, ok bool) {
	p.cols, p.stored = key, true
	for _, c := range key {
		i := slices.Index(cols, c)
		if i < 0 || i >= len(row) {
			return p, c.autoInc, false
		}
		if _, isDefault := row[i].(*ast.DefaultExpr); isDefault {
			return p, c.autoInc, false
		}
		if nullLiteral(row[i]) {
			return p, c.autoInc || c.nullable, false
		}
		v, constant := a.constant(row[i])
		if !constant {
			return p, false, false
		}
		p.values = append(p.values, v)
	}
	return p, false, true
}

// conflicts are the rows that the rows of VALUES could collide with.
func (a *analysis) conflicts(stmt *ast.InsertStmt, t *table, cols []*column) scope {
	s := scope{t: t, name: t.spec.name}
	if len(t.unique) != t.allUnique || t.makesKeys {
		return s
	}
	var pins []pin
	for _, row := range stmt.Lists {
		for _, k := range t.unique {
			p, generated, ok := a.rowKey(row, cols, k.cols)
			switch {
			case ok:
				pins = append(pins, p)
			case !generated:
				return s
			}
		}
	}
	if pins == nil || len(pins) > sendBatch {
		return s
	}
	s.pins, s.collides = pins, true
	return s
}

// upsert reads ON DUPLICATE KEY UPDATE into p; it returns why only the exact
// way is right.
func (a *analysis) upsert(stmt *ast.InsertStmt, t *table, cols []*column, p *plan) string {
	s := a.settings(stmt.OnDuplicate, t, t.spec.name, true)
	if p.writes != nil {
		p.writes[0].rekeys = s.unique
	}
	if s.rekeyed {
		p.cleaning = p.cleaning.and(t, a.newKey(stmt.OnDuplicate, t))
	}
	switch {
	case s.reason != "":
		return s.reason
	case t.watched() != "" && s.deltas != nil:
		return t.watched()
	case a.returns(t):
		return "it returns a counter"
	}
	p.touches = s.touch
	if s.deltas == nil {
		return ""
	}
	inc := &increment{t: t, name: t.spec.name, deltas: s.deltas, touch: s.touch, ignores: a.mayIgnore(stmt.IgnoreErr)}
	p.increment = inc
	fast := !s.ordinary && s.wanted == nil && len(s.touch) == 0 && !inc.ignores && a.decides(stmt, t) && fillsAll(t, cols)
	for _, row := range stmt.Lists {
		u, constant, known := a.upsertRow(row, t, cols, s.deltas)
		if !known {
			return "it adds a value that is not known beforehand"
		}
		inc.rows = append(inc.rows, u)
		fast = fast && constant
	}
	if fast && len(inc.rows) > 0 {
		p.class, inc.one, inc.byKey = counting, len(inc.rows) == 1, true
		for _, r := range inc.rows {
			inc.pins = append(inc.pins, r.key)
		}
		if inc.one {
			inc.prepare()
			inc.mayJoin(inc.rows[0].key)
		}
	}
	return ""
}

// decides reports whether one unique key decides which row an upsert meets, and nothing
// else is to be done.
func (a *analysis) decides(stmt *ast.InsertStmt, t *table) bool {
	return len(stmt.Lists) <= sendBatch && len(stmt.PartitionNames) == 0 && t.allUnique == 1 && len(t.unique) == 1 && !t.insertTriggers && !slices.ContainsFunc(t.touch, func(c *column) bool { return c.onUpdate }) &&
		!a.astray(stmt, t, t.spec.name) &&
		!hasWord(a.toks, "RETURNING", "DELAYED")
}

// fillsAll reports whether an INSERT of cols gives values to keys and counters only, and
// the table has defaults for all else.
func fillsAll(t *table, cols []*column) bool {
	return !slices.ContainsFunc(t.cols, func(c *column) bool {
		if slices.Contains(cols, c) {
			return c.autoInc || !t.inKey(c.name) && t.counter(c.name) == nil
		}
		return c.autoInc || !c.hasDefault
	})
}

// upsertRow reads one row of VALUES. constant is false where the statement itself has to
// run, and known where it is not known what the row adds.
func (a *analysis) upsertRow(row []ast.ExprNode, t *table, cols []*column, deltas []delta) (u upsertRow, constant, known bool) {
	u.key, _, constant = a.rowKey(row, cols, t.key)
	if !constant {
		u.key = pin{}
	}
	for i, c := range cols {
		if i >= len(row) || t.counter(c.name) == nil {
			continue
		}
		v, ok := a.constant(row[i])
		constant = constant && ok
		u.values = append(u.values, insertedValue{c, v})
	}
	for _, d := range deltas {
		if d.inserted {
			i := slices.Index(cols, d.c)
			if i < 0 || i >= len(row) {
				return u, false, false
			}
			v, ok := a.constant(row[i])
			if !ok {
				return u, false, false
			}
			d.v = v
		}
		u.deltas = append(u.deltas, d)
	}
	return u, constant, true
}

// returns reports whether RETURNING may give a counter or touch column of the base row.
func (a *analysis) returns(t *table) bool {
	at := slices.IndexFunc(a.toks, func(tok token) bool { return tok.is("RETURNING") })
	return at >= 0 && slices.ContainsFunc(a.toks[at:], func(tok token) bool {
		return tok.punct('*') || tok.ident() && t.virtual(tok.name)
	})
}

// load plans LOAD DATA: rows whose keys are not known before.
func (a *analysis) load(tables []*table, via []dependent) *plan {
	named := a.namedTables(tables)
	_, via = a.outsideStrings(nil, via)
	keyless := slices.ContainsFunc(named, func(t *table) bool { return len(t.key) == 0 })
	reason := ""
	switch {
	case hasWord(a.toks, "SELECT"):
		reason = "it reads a counter table in a subquery"
	case keyless:
		reason = "a keyless table must not grow"
	case len(named) != 1, len(via) > 0, hasWord(a.toks, "REPLACE"):
		reason = "it may replace rows"
	}
	if reason != "" {
		p := a.opaque(named, via, reason)
		if len(named) == 1 && !keyless && p.class != refused {
			p.cleaning = &cleaning{t: named[0]}
		}
		return p
	}
	if p := refusal(named); p != nil {
		return p
	}
	return &plan{cleaning: &cleaning{t: named[0]}, writes: anyRow(named)}
}
