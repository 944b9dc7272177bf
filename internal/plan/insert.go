package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// upsertRow is one row of the application's own upsert.
type upsertRow struct {
	key    KeyValue
	values []insertedValue // of the counters, to be checked as an INSERT would
	Deltas []Delta
}

type insertedValue struct {
	c *catalog.Column
	v Operand
}

// insertion plans INSERT and REPLACE.
func (a *analyzer) insertion(stmt *ast.InsertStmt, named []*catalog.Table) *Plan {
	source := singleTable(stmt.Table)
	if source == nil {
		return a.opaque(named, nil, "its target could not be followed")
	}
	t := a.target(source)
	if t == nil {
		p := a.readToWrite(stmt, named)
		q := p.Sum()
		if one, ok := a.single(stmt.Select, named); ok && q != nil && q.Locking {
			_, q.First = one.lockedRows(a.parsed.into)
		} else if ok && q != nil {
			q.Keyed = one.keyedRows()
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
	}
	if len(t.Key) == 0 {
		return a.opaque(named, nil, "a keyless table must not grow")
	}
	cols := insertedColumns(stmt, t)
	if cols == nil {
		return a.opaque(named, nil, "its columns could not be followed")
	}
	p := &Plan{Changes: Changes{Sweep: a.namedKeys(stmt, t, cols), Writes: []WriteTarget{{Table: t}}}}
	if p.Sweep == nil {
		p.Writes = nil // new ids: nobody has seen the rows
	} else {
		p.Writes[0].Pins = p.Sweep.Pins
	}
	exact, x := "", &Exact{}
	switch {
	case stmt.IsReplace:
		exact = "it replaces rows"
	case stmt.OnDuplicate == nil:
		return p
	default:
		exact = a.upsert(stmt, t, cols, p, x)
	}
	if p.Writes == nil {
		p.Writes = []WriteTarget{{Table: t}}
	}
	x.Rows = []RowSet{a.conflicts(stmt, t, cols)}
	if t.AllUnique > 1 && p.Writes[0].Pins != nil { // another key may decide which row it is
		p.Writes[0].Pins = x.Rows[0].Pins
	}
	p.Writes[0].Upserts = stmt.OnDuplicate != nil
	if exact != "" {
		p.Reason, p.Work, x.Discards = exact, x, a.replaced(stmt, t)
		if stmt.IsReplace && t.AllUnique > 1 {
			p.Writes[0].Pins = nil // rows may go that it does not name
		}
	}
	return p
}

// replaced are the counters that an INSERT or REPLACE does away with.
func (a *analyzer) replaced(stmt *ast.InsertStmt, t *catalog.Table, rest ...ast.Node) []*catalog.Column {
	rest = append(rest, values(stmt)...)
	if stmt.IsReplace {
		return a.gone(t, rest...)
	}
	return a.overwritten(t, stmt.OnDuplicate, rest...)
}

func (a *analyzer) insertFromQuery(stmt *ast.InsertStmt, t *catalog.Table, named []*catalog.Table) *Plan {
	p := &Plan{Changes: Changes{Sweep: &OrphanSweep{Table: t}, Writes: []WriteTarget{{Table: t}}}}
	if stmt.IsReplace || stmt.OnDuplicate != nil || len(t.Key) == 0 {
		o := a.opaque(named, nil, "rows from a query may replace others")
		if len(t.Key) > 0 {
			o.Sweep = p.Sweep
		}
		if x := o.Exactly(); x != nil && len(named) == 1 {
			x.Discards = a.replaced(stmt, t, stmt.Select)
		}
		return o
	}
	q, otherwise := a.rewriter(named).sums(stmt.Select)
	if otherwise != "" {
		o := a.opaque(named, nil, otherwise)
		o.Sweep = p.Sweep
		return o
	}
	if q != nil && a.countTables(stmt) > 0 {
		p.Work = q
		if one, ok := a.single(stmt.Select, named); ok && !q.Locking {
			q.Keyed = one.keyedRows()
		}
	}
	return p
}

// insertedColumns are the columns that the rows of VALUES fill, in their order.
func insertedColumns(stmt *ast.InsertStmt, t *catalog.Table) []*catalog.Column {
	var cols []*catalog.Column
	if len(stmt.Columns) == 0 && !stmt.Setlist {
		for _, c := range t.Columns {
			if !c.Invisible {
				cols = append(cols, c)
			}
		}
	}
	for _, name := range stmt.Columns {
		c := t.Column(name.Name.O)
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
func (a *analyzer) namedKeys(stmt *ast.InsertStmt, t *catalog.Table, cols []*catalog.Column) *OrphanSweep {
	named := &OrphanSweep{Table: t}
	if t.MakesKeys {
		return named
	}
	for _, row := range stmt.Lists {
		p, generated, ok := a.rowKey(row, cols, t.Key)
		switch {
		case generated:
		case !ok:
			return &OrphanSweep{Table: t}
		default:
			named.Pins = append(named.Pins, p)
		}
	}
	switch {
	case named.Pins == nil:
		return nil
	case len(named.Pins) > maxPins: // the server would compare each slot with each of them
		return &OrphanSweep{Table: t}
	}
	return named
}

// rowKey reads the values of a unique key from one row of VALUES. generated
// means that no row can have it yet: AUTO_INCREMENT makes it, or it has a NULL.
func (a *analyzer) rowKey(row []ast.ExprNode, cols, key []*catalog.Column) (p KeyValue, generated, ok bool) {
	p.Columns, p.stored = key, true
	for _, c := range key {
		i := slices.Index(cols, c)
		if i < 0 || i >= len(row) {
			return p, c.AutoInc, false
		}
		if _, isDefault := row[i].(*ast.DefaultExpr); isDefault {
			return p, c.AutoInc, false
		}
		if nullLiteral(row[i]) {
			return p, c.AutoInc || c.Nullable, false
		}
		v, constant := a.params.constant(row[i])
		if !constant {
			return p, false, false
		}
		p.values = append(p.values, v)
	}
	return p, false, true
}

// conflicts are the rows that the rows of VALUES could collide with.
func (a *analyzer) conflicts(stmt *ast.InsertStmt, t *catalog.Table, cols []*catalog.Column) RowSet {
	s := RowSet{Table: t, Name: t.Spec.Name}
	if len(t.Unique) != t.AllUnique || t.MakesKeys {
		return s
	}
	var pins []KeyValue
	for _, row := range stmt.Lists {
		for _, k := range t.Unique {
			p, generated, ok := a.rowKey(row, cols, k.Columns)
			switch {
			case ok:
				pins = append(pins, p)
			case !generated:
				return s
			}
		}
	}
	if pins == nil || len(pins) > SendBatch {
		return s
	}
	s.Pins, s.Collides = pins, true
	return s
}

// upsert reads ON DUPLICATE KEY UPDATE into p, which may have to run by x; it returns why
// only the exact way is right.
func (a *analyzer) upsert(stmt *ast.InsertStmt, t *catalog.Table, cols []*catalog.Column, p *Plan, x *Exact) string {
	src := source{namespace: a.namespace, t: t, name: t.Spec.Name}
	s := src.settings(stmt.OnDuplicate, true)
	if p.Writes != nil {
		p.Writes[0].Rekeys = s.unique
	}
	if s.rekeyed {
		p.Sweep = p.Sweep.and(t, src.newKey(stmt.OnDuplicate))
	}
	switch {
	case s.reason != "":
		return s.reason
	case t.Watched() != "" && s.deltas != nil:
		return t.Watched()
	case a.returns(t):
		return "it returns a counter"
	}
	if s.deltas == nil {
		p.Work = &Update{s.touch, x}
		return ""
	}
	inc := &Increment{Table: t, Name: t.Spec.Name, Deltas: s.deltas, Touch: s.touch, Ignores: a.mayIgnore(stmt.IgnoreErr), Exact: x}
	p.Work = inc
	switch {
	case s.ordinary || s.wanted != nil || len(s.touch) > 0:
		p.Reason = "as an upsert it sets other columns than counters"
	case inc.Ignores:
		p.Reason = "by IGNORE, or by a hint, it may cut what it adds"
	case !src.decides(stmt):
		p.Reason = "as an upsert it needs a table of one unique key, without INSERT triggers or columns ON UPDATE, and no further clauses"
	case !fillsAll(t, cols):
		p.Reason = "as an upsert it gives values to the key and counters alone, and all other columns have defaults"
	}
	for _, row := range stmt.Lists {
		u, constant, known := a.upsertRow(row, t, cols, s.deltas)
		if !known {
			return "it adds a value that is not known beforehand"
		}
		inc.Rows = append(inc.Rows, u)
		if !constant && p.Reason == "" {
			p.Reason = "its key or a counter is no constant"
		}
	}
	if inc.BaseOnly = p.Reason != "" || len(inc.Rows) == 0; !inc.BaseOnly {
		inc.One, inc.ByKey = len(inc.Rows) == 1, true
		for _, r := range inc.Rows {
			inc.Pins = append(inc.Pins, r.key)
		}
		if inc.One {
			inc.prepare()
			inc.mayJoin(inc.Rows[0].key)
		}
	}
	return ""
}

// decides reports whether one unique key decides which row an upsert meets, and nothing
// else is to be done.
func (src source) decides(stmt *ast.InsertStmt) bool {
	t := src.t
	return len(stmt.Lists) <= SendBatch && len(stmt.PartitionNames) == 0 && t.AllUnique == 1 && len(t.Unique) == 1 && !t.InsertTriggers && !slices.ContainsFunc(t.Touch, func(c *catalog.Column) bool { return c.OnUpdate }) &&
		!src.astray(stmt) &&
		!sqltext.HasWord(src.toks, "RETURNING", "DELAYED")
}

// fillsAll reports whether an INSERT of cols gives values to keys and counters only, and
// the table has defaults for all else.
func fillsAll(t *catalog.Table, cols []*catalog.Column) bool {
	return !slices.ContainsFunc(t.Columns, func(c *catalog.Column) bool {
		if slices.Contains(cols, c) {
			return c.AutoInc || !t.InKey(c.Name) && t.Counter(c.Name) == nil
		}
		return c.AutoInc || !c.HasDefault
	})
}

// upsertRow reads one row of VALUES. constant is false where the statement itself has to
// run, and known where it is not known what the row adds.
func (a *analyzer) upsertRow(row []ast.ExprNode, t *catalog.Table, cols []*catalog.Column, deltas []Delta) (u upsertRow, constant, known bool) {
	u.key, _, constant = a.rowKey(row, cols, t.Key)
	if !constant {
		u.key = KeyValue{}
	}
	for i, c := range cols {
		if i >= len(row) || t.Counter(c.Name) == nil {
			continue
		}
		v, ok := a.params.constant(row[i])
		constant = constant && ok
		u.values = append(u.values, insertedValue{c, v})
	}
	for _, d := range deltas {
		if d.inserted {
			i := slices.Index(cols, d.C)
			if i < 0 || i >= len(row) {
				return u, false, false
			}
			v, ok := a.params.constant(row[i])
			if !ok {
				return u, false, false
			}
			d.v = v
		}
		u.Deltas = append(u.Deltas, d)
	}
	return u, constant, true
}

// load plans LOAD DATA: rows whose keys are not known before.
func (a *analyzer) load(tables []*catalog.Table, via []catalog.Dependent) *Plan {
	named := a.namedTables(tables)
	_, via = a.outsideStrings(nil, via)
	keyless := slices.ContainsFunc(named, func(t *catalog.Table) bool { return len(t.Key) == 0 })
	reason := ""
	switch {
	case sqltext.HasWord(a.toks, "SELECT"):
		reason = "it reads a counter table in a subquery"
	case keyless:
		reason = "a keyless table must not grow"
	case len(named) != 1, len(via) > 0, sqltext.HasWord(a.toks, "REPLACE"):
		reason = "it may replace rows"
	}
	if reason != "" {
		p := a.opaque(named, via, reason)
		if len(named) == 1 && !keyless && p.Class() != ClassRefused {
			p.Sweep = &OrphanSweep{Table: named[0]}
		}
		return p
	}
	if p := refusal(named); p != nil {
		return p
	}
	return &Plan{Changes: Changes{Sweep: &OrphanSweep{Table: named[0]}, Writes: anyRow(named)}}
}
