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

// upsert reads ON DUPLICATE KEY UPDATE into p, which may have to run by x; it returns why
// only the exact way is right.
func (ins inserted) upsert(p *Plan, x *Exact) string {
	s := ins.settings(ins.OnDuplicate, true)
	if p.Writes != nil {
		p.Writes[0].Rekeys = s.unique
	}
	if s.rekeyed {
		p.Sweep = p.Sweep.and(ins.t, ins.newKey(ins.OnDuplicate))
	}
	switch {
	case s.reason != "":
		return s.reason
	case ins.t.Watched() != "" && s.deltas != nil:
		return ins.t.Watched()
	case ins.returns(ins.t):
		return "it returns a counter"
	}
	if s.deltas == nil {
		p.Work = &Update{s.touch, x, s.cutsKey}
		return ""
	}
	inc := &Increment{Table: ins.t, Name: ins.name, Deltas: s.deltas, Touch: s.touch, Ignores: ins.mayIgnore(ins.IgnoreErr), Exact: x, cutsKey: s.cutsKey}
	p.Work = inc
	switch {
	case s.ordinary != "":
		p.Reason = "as an upsert it sets " + s.ordinary + ", which is no counter"
	case s.wanted != nil || len(s.touch) > 0:
		p.Reason = "as an upsert it sets a time beside counters"
	case inc.Ignores:
		p.Reason = "by IGNORE, or by a hint, it may cut what it adds"
	case !ins.decides():
		p.Reason = "as an upsert it needs a table of one unique key, without INSERT triggers or columns ON UPDATE, and no further clauses"
	default:
		p.Reason = ins.besides()
	}
	for _, row := range ins.Lists {
		u, constant, known := ins.upsertRow(row, s.deltas)
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
			inc.Keys = append(inc.Keys, r.key)
		}
		if inc.One {
			inc.prepare()
			inc.mayJoin()
		}
	}
	return ""
}

// decides reports whether one unique key decides which row an upsert meets, and nothing
// else is to be done.
func (ins inserted) decides() bool {
	t := ins.t
	return len(ins.Lists) <= SendBatch && len(ins.PartitionNames) == 0 && t.AllUnique == 1 && len(t.Unique) == 1 && !t.InsertTriggers && !slices.ContainsFunc(t.Touch, func(c *catalog.Column) bool { return c.OnUpdate }) &&
		!ins.astray(ins.InsertStmt) &&
		!sqltext.HasWord(ins.toks, "RETURNING", "DELAYED")
}

// besides says which column is in the way of rows that give values to the key and counters only,
// where the table has defaults for all else; "": none.
func (ins inserted) besides() string {
	for _, c := range ins.t.Columns {
		given := slices.Contains(ins.cols, c)
		switch {
		case c.AutoInc:
			return "as an upsert it can't go to a table with the AUTO_INCREMENT column " + c.Name
		case given && !ins.t.Key.Has(c.Name) && ins.t.Counter(c.Name) == nil:
			return "as an upsert it gives a value to " + c.Name + ", which is neither in the key nor a counter"
		case !given && !c.HasDefault:
			return "as an upsert it leaves out " + c.Name + ", which has no default"
		}
	}
	return ""
}

// upsertRow reads one row of VALUES. constant is false where the statement itself has to
// run, and known where it is not known what the row adds.
func (ins inserted) upsertRow(row []ast.ExprNode, deltas []Delta) (u upsertRow, constant, known bool) {
	u.key, _, constant = ins.rowKey(row, ins.t.Key)
	if !constant {
		u.key = KeyValue{}
	}
	for i, c := range ins.cols {
		if i >= len(row) || ins.t.Counter(c.Name) == nil {
			continue
		}
		v, ok := ins.params.constant(row[i])
		constant = constant && ok
		u.values = append(u.values, insertedValue{c, v})
	}
	for _, d := range deltas {
		if d.inserted {
			i := slices.Index(ins.cols, d.C)
			if i < 0 || i >= len(row) {
				return u, false, false
			}
			v, ok := ins.params.constant(row[i])
			if !ok {
				return u, false, false
			}
			d.v = v
		}
		u.Deltas = append(u.Deltas, d)
	}
	return u, constant, true
}
