package countermysql

import (
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
)

// topRead is a query for the first rows in an order that an index of the base
// table has. A row without slots has its base row's values, so the first n of
// all rows are among those that have slots, and the first n of the others,
// which the index gives. Nothing else is read.
type topRead struct {
	text          fragment // of its parameters, restLimit is no argument of the statement's
	params        int      // of the statement
	count, offset value
	guarded       fragment // text that fails where a key is a date that a UNION does not keep; no pieces: there is none
}

// restLimit stands for the number of rows without slots.
const restLimit = -1

// maxTop bounds those rows. Each costs what a dozen cost that are only read, so
// that of a small table many take longer than all.
const maxTop = 200

// top plans a query for the first rows; nil for all others.
func (a *analysis) top(stmt ast.StmtNode, named []*table, q *query) *topRead {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || len(named) != 1 || s.With != nil || s.GroupBy != nil || s.Having != nil || s.Distinct || s.WindowSpecs != nil || s.LockInfo != nil ||
		s.SelectIntoOpt != nil || s.Kind != ast.SelectStmtKindSelect || s.OrderBy == nil || s.Limit == nil ||
		s.SelectStmtOpts != nil && s.SelectStmtOpts.CalcFoundRows || a.countTables(stmt) != 1 || len(q.views) != 1 || q.views[0].hints != "" {
		return nil
	}
	source, t := singleTable(s.From), named[0]
	if source == nil || a.target(source) != t || len(t.key) == 0 || !a.readsVirtualIn(t, s.OrderBy) ||
		slices.ContainsFunc(t.key, func(c *column) bool { return c.dataType == "enum" || c.dataType == "set" }) { // a UNION makes strings of them
		return nil
	}
	name := nameOf(source)
	order := a.sortKeys(s, t, name)
	if order == nil || !t.sortedBy(order) || !rowByRow(s.Fields) || !a.readInOrder(s.Where, t, name, order[0].c) {
		return nil
	}
	return a.topRead(s, t, name, order, q)
}

// sortKeys are the columns of a query's order; nil if it has anything else, or
// a name that an alias may have taken.
func (a *analysis) sortKeys(s *ast.SelectStmt, t *table, name string) []sortKey {
	keys := make([]sortKey, len(s.OrderBy.Items))
	for i, item := range s.OrderBy.Items {
		ref, ok := columnRef(item.Expr)
		if !ok || t.column(ref.Name.O) == nil || ref.Schema.O != "" || !a.means(ref.Table.O, name) {
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
		keys[i] = sortKey{t.column(ref.Name.O), item.Desc}
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

// rowByRow reports whether a select list says of each row something that does
// not depend on others.
func rowByRow(list *ast.FieldList) bool {
	return every(list, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.AggregateFuncExpr, *ast.WindowFuncExpr, *ast.VariableExpr:
			return false
		}
		return true
	})
}

// readInOrder reports whether a condition may stand twice in a query, and most
// rows may be expected to meet it, or those that do stand together in the order:
// to look for few rows in their order can take longer than to look at all.
func (a *analysis) readInOrder(where ast.ExprNode, t *table, name string, by *column) bool {
	if where == nil {
		return true
	}
	if !a.local(where, t, name) {
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
			c := t.column(ref.Name.O)
			return ref.Schema.O == "" && (isNull || c == by || !t.virtual(c.name) && !t.finds(c) && (excludes || c.fewValues()))
		}) {
			return false
		}
	}
	return true
}

// fewValues reports whether the type tells that many rows have the same value.
func (c *column) fewValues() bool {
	return slices.Contains([]string{"tinyint", "bit", "enum", "set"}, c.dataType)
}

func (a *analysis) topRead(s *ast.SelectStmt, t *table, name string, order []sortKey, q *query) *topRead {
	r := &topRead{params: len(a.params)}
	var ok bool
	if r.count, ok = a.constant(s.Limit.Count); !ok {
		return nil
	}
	r.offset = value{param: -1, literal: uint64(0)}
	if s.Limit.Offset != nil {
		if r.offset, ok = a.constant(s.Limit.Offset); !ok {
			return nil
		}
	}
	var where fragment
	if s.Where != nil {
		where = a.fragment(a.whereSpan())
	}
	limit := "?"
	if r.count.param < 0 && r.offset.param < 0 {
		n, ok := r.rest(binder{})
		if !ok {
			return nil
		}
		limit = strconv.FormatInt(n, 10)
	}
	params, before := []int{}, 0
	for _, tok := range tokenize(q.text[0], a.mode) {
		if tok.kind == tokParam {
			params, before = append(params, before), before+1
		}
	}
	params = append(params, where.params...)
	if limit == "?" {
		params = append(params, restLimit)
	}
	for n := before; n < r.params; n++ {
		params = append(params, n)
	}
	conds := t.withoutSlots(name)
	if len(where.pieces) > 0 {
		conds = "(" + strings.TrimSpace(strings.Join(where.pieces, "?")) + ") AND " + conds
	}
	text := func(conds string) fragment {
		return cut(q.with(func(viewUse) string { return t.topView(name, conds, order, limit) }), a.mode, params)
	}
	r.text = text(conds)
	if guard := t.wholeKey(name); guard != "" {
		r.guarded = text(conds + " AND " + guard)
	}
	return r
}

// withoutSlots tells the rows of the table called name that have no slots.
func (t *table) withoutSlots(name string) string {
	return "(SELECT 1 FROM " + t.slots() + " AS " + privateName + " WHERE " + t.sameKey(privateName, quoteIdent(name)) + " AND " + t.planned(privateName) + " LIMIT 1) IS NULL"
}

// wholeKey is true of rows whose dates in the key have a month and a day, or nothing at
// all, and an error, 1690, of others: with NO_ZERO_IN_DATE the server makes another key
// of them in a UNION. Such a row has no slots, so it is looked at where it counts. "" if
// the key has no dates.
func (t *table) wholeKey(name string) string {
	var conds []string
	for _, c := range t.key {
		if ref := quoteIdent(name) + "." + quoteIdent(c.name); c.dated() {
			conds = append(conds, "(DAYOFMONTH("+ref+") = 0 OR MONTH("+ref+") = 0) AND "+ref+" + 0 <> 0")
		}
	}
	if conds == nil {
		return ""
	}
	return "18446744073709551615 + (" + strings.Join(conds, " OR ") + ") > 0"
}

// topView is wideView with no more rows than a topRead needs.
func (t *table) topView(name, conds string, order []sortKey, limit string) string {
	as := quoteIdent(name)
	var cols, by []string
	for _, c := range t.key {
		cols = append(cols, as+"."+quoteIdent(c.name))
	}
	for _, c := range t.cols {
		switch {
		case t.counter(c.name) != nil:
			cols = append(cols, "0")
		case slices.Contains(t.touch, c):
			cols = append(cols, "NULL")
		}
	}
	for _, k := range order {
		col := as + "." + quoteIdent(k.c.name)
		if k.desc {
			col += " DESC"
		}
		by = append(by, col)
	}
	rest := "SELECT " + strings.Join(cols, ", ") + " FROM " + t.base() + " AS " + as + " WHERE " + conds + " ORDER BY " + strings.Join(by, ", ") + " LIMIT " + limit
	return t.joinedView("(" + t.groupedSlots() + " UNION ALL (" + rest + ")) AS " + privateName + " STRAIGHT_JOIN " + t.base())
}

// rest is the number of rows without slots that the query may need; ok is false
// where it is not to be known, or too large.
func (r *topRead) rest(b binder) (n int64, ok bool) {
	for _, v := range []value{r.count, r.offset} {
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

// bind writes the text to send and its arguments.
func (r *topRead) bind(k *call) (text string, args []driver.NamedValue, ok bool) {
	by := r.text
	if k.guards() {
		by = r.guarded
	}
	n, ok := r.rest(k.binder())
	if !ok {
		return "", nil, false
	}
	return (&restated{by, r.params}).with(k, n)
}

// guards reports whether a query for the first rows fails where it can't be answered
// from an index.
func (k *call) guards() bool {
	return k.query.top != nil && k.query.top.guarded.pieces != nil && k.conn.session.wholeDates
}
