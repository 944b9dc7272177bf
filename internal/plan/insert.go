package plan

import (
	"slices"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// inserted are the rows of an INSERT or REPLACE of a counter table.
type inserted struct {
	source
	*ast.InsertStmt
	cols []*catalog.Column // that the rows of VALUES fill, in their order
}

// insertion plans INSERT and REPLACE.
func (a *analyzer) insertion(stmt *ast.InsertStmt, named []*catalog.Table) *Plan {
	node := singleTable(stmt.Table)
	if node == nil {
		return a.opaque(named, nil, "its target could not be followed")
	}
	t := a.target(node)
	if t == nil {
		p := a.readToWrite(stmt, named)
		q := p.Sum()
		if one, ok := a.singleSelect(stmt.Select, named); ok && q != nil && q.Locking {
			_, q.First = one.lockedRows(a.parsed.into)
		} else if ok && q != nil {
			q.Keyed = one.keyedRows()
		}
		return p
	}
	ins := inserted{source: source{a.namespace, node, t, t.Spec.Name}, InsertStmt: stmt}
	if stmt.Select != nil {
		return a.insertFromQuery(ins, named)
	}
	if len(named) > 1 || a.countTables(stmt) > 0 {
		if stmt.IsReplace || stmt.OnDuplicate != nil || len(a.countersRead(stmt, named, values(stmt)...)) > 0 {
			return a.opaque(named, nil, "it reads a counter table in a subquery")
		}
	}
	if len(t.Key) == 0 {
		return a.opaque(named, nil, "a keyless table must not grow")
	}
	ins.cols = insertedColumns(stmt, t)
	if ins.cols == nil {
		return a.opaque(named, nil, "its columns could not be followed")
	}
	p := &Plan{Changes: Changes{Sweep: ins.namedKeys(), Writes: []WriteTarget{{Table: t}}}}
	if p.Sweep == nil {
		p.Writes = nil // new ids: nobody has seen the rows
	} else {
		p.Writes[0].Keys = p.Sweep.Keys
	}
	exact, x := "", &Exact{}
	switch {
	case stmt.IsReplace:
		exact = "it replaces rows"
	case stmt.OnDuplicate == nil:
		return p
	default:
		exact = ins.upsert(p, x)
	}
	if p.Writes == nil {
		p.Writes = []WriteTarget{{Table: t}}
	}
	x.Rows = []RowSet{ins.conflicts()}
	if t.AllUnique > 1 && p.Writes[0].Keys != nil { // another key may decide which row it is
		p.Writes[0].Keys = x.Rows[0].Keys
	}
	p.Writes[0].Upserts = stmt.OnDuplicate != nil
	if exact != "" {
		p.Reason, p.Work, x.Discards = exact, x, ins.replaced()
		if stmt.IsReplace && t.AllUnique > 1 {
			p.Writes[0].Keys = nil // rows may go that it does not name
		}
	}
	return p
}

// replaced are the counters that an INSERT or REPLACE does away with.
func (ins inserted) replaced(rest ...ast.Node) []*catalog.Column {
	rest = append(rest, values(ins.InsertStmt)...)
	if ins.IsReplace {
		return ins.gone(ins.t, rest...)
	}
	return ins.overwritten(ins.t, ins.OnDuplicate, rest...)
}

// insertFromQuery plans one whose rows a query gives.
func (a *analyzer) insertFromQuery(ins inserted, named []*catalog.Table) *Plan {
	t := ins.t
	p := &Plan{Changes: Changes{Sweep: &OrphanSweep{Table: t}, Writes: []WriteTarget{{Table: t}}}}
	if ins.IsReplace || ins.OnDuplicate != nil || len(t.Key) == 0 {
		o := a.opaque(named, nil, "rows from a query may replace others")
		if len(t.Key) > 0 {
			o.Sweep = p.Sweep
		}
		if x := o.Exactly(); x != nil && len(named) == 1 {
			x.Discards = ins.replaced(ins.Select)
		}
		return o
	}
	q, otherwise := a.rewriter(named).sums(ins.Select)
	if otherwise != "" {
		o := a.opaque(named, nil, otherwise)
		o.Sweep = p.Sweep
		return o
	}
	if q != nil && a.countTables(ins.InsertStmt) > 0 {
		p.Work = q
		if one, ok := a.singleSelect(ins.Select, named); ok && !q.Locking {
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
func (ins inserted) namedKeys() *OrphanSweep {
	named := &OrphanSweep{Table: ins.t}
	if ins.t.MakesKeys {
		return named
	}
	for _, row := range ins.Lists {
		p, generated, ok := ins.rowKey(row, ins.t.Key)
		switch {
		case generated:
		case !ok:
			return &OrphanSweep{Table: ins.t}
		default:
			named.Keys = append(named.Keys, p)
		}
	}
	switch {
	case named.Keys == nil:
		return nil
	case len(named.Keys) > maxKeys: // the server would compare each slot with each of them
		return &OrphanSweep{Table: ins.t}
	}
	return named
}

// rowKey reads the values of a unique key from one row of VALUES. generated
// means that no row can have it yet: AUTO_INCREMENT makes it, or it has a NULL.
func (ins inserted) rowKey(row []ast.ExprNode, key []*catalog.Column) (p KeyValue, generated, ok bool) {
	p.Columns, p.stored = key, true
	for _, c := range key {
		i := slices.Index(ins.cols, c)
		if i < 0 || i >= len(row) {
			return p, c.AutoInc, false
		}
		if _, isDefault := row[i].(*ast.DefaultExpr); isDefault {
			return p, c.AutoInc, false
		}
		if nullLiteral(row[i]) {
			return p, c.AutoInc || c.Nullable, false
		}
		v, constant := ins.params.constant(row[i])
		if !constant {
			return p, false, false
		}
		p.values = append(p.values, v)
	}
	return p, false, true
}

// conflicts are the rows that the rows of VALUES could collide with.
func (ins inserted) conflicts() RowSet {
	s := RowSet{Table: ins.t, Name: ins.t.Spec.Name}
	if len(ins.t.Unique) != ins.t.AllUnique || ins.t.MakesKeys {
		return s
	}
	var keys []KeyValue
	for _, row := range ins.Lists {
		for _, k := range ins.t.Unique {
			p, generated, ok := ins.rowKey(row, k.Columns)
			switch {
			case ok:
				keys = append(keys, p)
			case !generated:
				return s
			}
		}
	}
	if keys == nil || len(keys) > SendBatch {
		return s
	}
	s.Keys, s.Collides = keys, true
	return s
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
	if p := a.refusal(named); p != nil {
		return p
	}
	return &Plan{Changes: Changes{Sweep: &OrphanSweep{Table: named[0]}, Writes: anyRow(named)}}
}
