package plan

import (
	"database/sql/driver"
	"slices"
	"strconv"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// topRead is a query for the first rows in an order that an index of the base
// table has. A row without slots has its base row's values, so the first n of
// all rows are among those that have slots, and the first n of the others,
// which the index gives. Nothing else is read.
type topRead struct {
	text, guarded *restated // the latter fails where a key is a date that a UNION does not keep; nil: there is none
	count, offset Operand
	joined        bool // it names other tables, too, once more
	table         *catalog.Table
	name          string // of it in the query
	order         []catalog.SortKey
}

// restLimit stands for the number of rows without slots.
const restLimit = -1

// maxTop bounds those rows. Each costs what a dozen cost that are only read, so
// that of a small table many take longer than all.
const maxTop = 200

// top plans a query for the first rows; nil for all others.
func (rw rewriter) top(stmt ast.StmtNode, q *Sum) *topRead {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || !picksRows(s) || s.From == nil || s.With != nil || s.OrderBy == nil || s.Limit == nil || s.SelectStmtOpts != nil && s.SelectStmtOpts.CalcFoundRows {
		return nil
	}
	from := joined{ns: rw.namespace}
	if !from.follow(s.From.TableRefs, false) {
		return nil
	}
	for _, x := range from.counted {
		t := x.t
		parts := append([]ast.Node{s.Where, s.OrderBy}, from.on...)
		if x.nullable || !slices.Equal(rw.countersRead(s, rw.named, parts...), []*catalog.Table{t}) || !q.viewsOnce(t) ||
			slices.ContainsFunc(t.Key, func(c *catalog.Column) bool { return c.DataType == "enum" || c.DataType == "set" }) { // a UNION makes strings of them
			continue
		}
		order := x.sortKeys(s, from.several)
		if len(t.Key) == 0 || order == nil || !readsVirtualIn(t, s.OrderBy) || !rowByRow(s.Fields) || !x.readInOrder(s.Where, order[0].C) {
			return nil
		}
		return rw.topRead(s, x.source, order, from.several, q)
	}
	return nil
}

// joined are the tables of a FROM clause that may stand twice in a query.
type joined struct {
	ns      *namespace
	counted []joinedTable // the counter tables
	on      []ast.Node
	several bool
}

type joinedTable struct {
	source
	nullable bool // the outer side of a join
}

// follow goes through joins by equal columns; false if there is anything else.
func (j *joined) follow(n ast.ResultSetNode, nullable bool) bool {
	switch n := n.(type) {
	case *ast.TableSource:
		if _, ok := n.Source.(*ast.TableName); !ok {
			return false
		}
		if s := j.ns.sourceOf(n); s.t != nil {
			j.counted = append(j.counted, joinedTable{s, nullable})
		}
		return true
	case *ast.Join:
		if n.Right == nil {
			return j.follow(n.Left, nullable)
		}
		if n.NaturalJoin || n.Using != nil || n.On == nil || !equalColumns(n.On.Expr) {
			return false
		}
		j.several, j.on = true, append(j.on, n.On)
		return j.follow(n.Left, nullable || n.Tp == ast.RightJoin) && j.follow(n.Right, nullable || n.Tp == ast.LeftJoin)
	}
	return false
}

// sortKeys are the columns of a query's order; nil if it has anything else, or
// a name that an alias may have taken, or, of several tables, another's column.
func (src source) sortKeys(s *ast.SelectStmt, several bool) []catalog.SortKey {
	keys := make([]catalog.SortKey, len(s.OrderBy.Items))
	for i, item := range s.OrderBy.Items {
		ref, ok := columnRef(item.Expr)
		if !ok || src.t.Column(ref.Name.O) == nil || ref.Schema.O != "" || !src.means(ref.Table.O, src.name) || several && ref.Table.O == "" {
			return nil
		}
		for _, f := range s.Fields.Fields {
			if f.AsName.L == "" && namesItself(f.Expr) {
				return nil
			}
			if f.AsName.L != ref.Name.L {
				continue
			}
			if c, is := columnRef(f.Expr); !is || c.Name.L != ref.Name.L {
				return nil
			}
		}
		keys[i] = catalog.SortKey{C: src.t.Column(ref.Name.O), Desc: item.Desc}
	}
	return keys
}

// namesItself reports whether a column without an alias may be named as a counter
// is, as that of SELECT 'likes'.
func namesItself(e ast.ExprNode) bool {
	switch e := unparen(e).(type) {
	case ast.ValueExpr:
		return true
	case *ast.FuncCallExpr:
		return e.FnName.L == "name_const"
	}
	return false
}

// readInOrder reports whether a condition may stand twice in a query, and most
// rows may be expected to meet it, or those that do stand together in the order:
// to look for few rows in their order can take longer than to look at all.
func (src source) readInOrder(where ast.ExprNode, by *catalog.Column) bool {
	if where == nil {
		return true
	}
	if !src.local(where) {
		return false
	}
	for _, cond := range conjuncts(where) {
		isNull, excludes := false, false
		switch e := unparen(cond).(type) {
		case *ast.IsNullExpr:
			isNull = true
		case *ast.BinaryOperationExpr:
			excludes = e.Op == opcode.NE
		case *ast.PatternInExpr:
			excludes = e.Not
		}
		if !every(cond, func(n ast.Node) bool {
			ref, ok := n.(*ast.ColumnName)
			if !ok {
				return true
			}
			c := src.t.Column(ref.Name.O)
			return ref.Schema.O == "" && (isNull || c == by || !src.t.Virtual(c.Name) && !src.t.Finds(c) && (excludes || c.FewValues()))
		}) {
			return false
		}
	}
	return true
}

func (rw rewriter) topRead(s *ast.SelectStmt, of source, order []catalog.SortKey, several bool, q *Sum) *topRead {
	r := &topRead{joined: several, table: of.t, name: of.name, order: order}
	var ok bool
	if r.count, ok = rw.params.constant(s.Limit.Count); !ok {
		return nil
	}
	r.offset = Operand{param: -1, literal: uint64(0)}
	if s.Limit.Offset != nil {
		if r.offset, ok = rw.params.constant(s.Limit.Offset); !ok {
			return nil
		}
	}
	limit := "?"
	if r.count.param < 0 && r.offset.param < 0 {
		n, ok := r.rest(Binder{})
		if !ok {
			return nil
		}
		limit = strconv.FormatInt(n, 10)
	}
	from, where, by, ok := rw.clauses()
	if !ok {
		return nil
	}
	params, before := []int{}, 0
	for i, text := range q.text {
		for _, tok := range sqltext.Tokenize(text, rw.mode) {
			if tok.Kind == sqltext.Param {
				params, before = append(params, before), before+1
			}
		}
		if q.views[i].Table == of.t {
			break
		}
	}
	params = slices.Concat(params, from.params, where.params, by.params)
	if limit == "?" {
		params = append(params, restLimit)
	}
	for n := before; n < len(rw.params); n++ {
		params = append(params, n)
	}
	rest := func(guard string) *restated {
		conds := slotsql.WithoutSlots(of.t, of.name, of.t.SortedBy(order)) + guard
		if s.Where != nil {
			conds = "(" + where.sql() + ") AND " + conds
		}
		rest := from.sql() + " WHERE " + conds + " " + by.sql() + " LIMIT " + limit
		return rw.restate(q.with(func(v ViewUse) string {
			if v.Table == of.t {
				return slotsql.TopView(of.t, of.name, rest, several, v.cols)
			}
			return slotsql.View(v.Table, slotsql.ReadView{}, v.hints, v.cols)
		}), params)
	}
	r.text = rest("")
	if guard := of.t.Key.Whole(of.name); guard != "" {
		r.guarded = rest(" AND " + guard)
	}
	return r
}

// rest is the number of rows without slots that the query may need; ok is false
// where it is not to be known, or too large.
func (r *topRead) rest(b Binder) (n int64, ok bool) {
	for _, v := range []Operand{r.count, r.offset} {
		x, known := b.raw(v)
		if !known || v.negative {
			return 0, false
		}
		switch x := x.(type) {
		case int64:
			if x < 0 || x > maxTop {
				return 0, false
			}
			n += x
		case uint64:
			if x > maxTop {
				return 0, false
			}
			n += int64(x) //nolint:gosec // at most maxTop
		default:
			return 0, false
		}
	}
	return n, n <= maxTop
}

// Bind writes the text to send and its arguments, for a session that takes whole dates only
// or not.
func (r *topRead) Bind(a Arguments, wholeDates bool) (text string, args []driver.NamedValue, ok bool) {
	by := r.text
	if r.guards(wholeDates) {
		by = r.guarded
	}
	n, ok := r.rest(a.Binder)
	if !ok {
		return "", nil, false
	}
	return by.With(a, n)
}

// guards reports whether it fails where it can't be answered from an index.
func (r *topRead) guards(wholeDates bool) bool { return r.guarded != nil && wholeDates }
