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
	joined        bool     // it names other tables, too, once more
}

// restLimit stands for the number of rows without slots.
const restLimit = -1

// maxTop bounds those rows. Each costs what a dozen cost that are only read, so
// that of a small table many take longer than all.
const maxTop = 200

// top plans a query for the first rows; nil for all others.
func (a *analysis) top(stmt ast.StmtNode, named []*table, q *query) *topRead {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || s.From == nil || s.With != nil || s.GroupBy != nil || s.Having != nil || s.Distinct || s.WindowSpecs != nil || s.LockInfo != nil ||
		s.SelectIntoOpt != nil || s.Kind != ast.SelectStmtKindSelect || s.OrderBy == nil || s.Limit == nil ||
		s.SelectStmtOpts != nil && s.SelectStmtOpts.CalcFoundRows {
		return nil
	}
	from := joined{a: a}
	if !from.follow(s.From.TableRefs, false) {
		return nil
	}
	for _, x := range from.counted {
		t := x.t
		parts := append([]ast.Node{s.Where, s.OrderBy}, from.on...)
		if x.nullable || !slices.Equal(a.countersRead(s, named, parts...), []*table{t}) || !q.viewsOnce(t) ||
			slices.ContainsFunc(t.key, func(c *column) bool { return c.dataType == "enum" || c.dataType == "set" }) { // a UNION makes strings of them
			continue
		}
		order := a.sortKeys(s, t, x.name, from.several)
		if len(t.key) == 0 || order == nil || !a.readsVirtualIn(t, s.OrderBy) || !rowByRow(s.Fields) || !a.readInOrder(s.Where, t, x.name, order[0].c) {
			return nil
		}
		return a.topRead(s, x.source, order, from.several, q)
	}
	return nil
}

// joined are the tables of a FROM clause that may stand twice in a query.
type joined struct {
	a       *analysis
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
		if s := j.a.sourceOf(n); s.t != nil {
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

// equalColumns reports whether a condition compares columns with each other and does
// nothing else: which rows it leaves says nothing of how many.
func equalColumns(cond ast.ExprNode) bool {
	return every(cond, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryOperationExpr:
			return n.Op == opcode.EQ || n.Op == opcode.LogicAnd
		case *ast.ColumnNameExpr, *ast.ColumnName, *ast.ParenthesesExpr:
			return true
		}
		return false
	})
}

// viewsOnce reports whether the query reads the table in one place, as it finds it.
func (q *query) viewsOnce(t *table) bool {
	n := 0
	for _, v := range q.views {
		if v.t == t && v.hints != "" {
			return false
		}
		if v.t == t {
			n++
		}
	}
	return n == 1
}

// sortKeys are the columns of a query's order; nil if it has anything else, or
// a name that an alias may have taken, or, of several tables, another's column.
func (a *analysis) sortKeys(s *ast.SelectStmt, t *table, name string, several bool) []sortKey {
	keys := make([]sortKey, len(s.OrderBy.Items))
	for i, item := range s.OrderBy.Items {
		ref, ok := columnRef(item.Expr)
		if !ok || t.column(ref.Name.O) == nil || ref.Schema.O != "" || !a.means(ref.Table.O, name) || several && ref.Table.O == "" {
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

func (a *analysis) topRead(s *ast.SelectStmt, of source, order []sortKey, several bool, q *query) *topRead {
	r := &topRead{params: len(a.params), joined: several}
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
	limit := "?"
	if r.count.param < 0 && r.offset.param < 0 {
		n, ok := r.rest(binder{})
		if !ok {
			return nil
		}
		limit = strconv.FormatInt(n, 10)
	}
	from, where, by, ok := a.clauses()
	if !ok {
		return nil
	}
	params, before := []int{}, 0
	for i, text := range q.text {
		for _, tok := range tokenize(text, a.mode) {
			if tok.kind == tokParam {
				params, before = append(params, before), before+1
			}
		}
		if q.views[i].t == of.t {
			break
		}
	}
	params = slices.Concat(params, from.params, where.params, by.params)
	if limit == "?" {
		params = append(params, restLimit)
	}
	for n := before; n < r.params; n++ {
		params = append(params, n)
	}
	rest := func(guard string) fragment {
		conds := of.t.withoutSlots(of.name, of.t.sortedBy(order)) + guard
		if s.Where != nil {
			conds = "(" + where.sql() + ") AND " + conds
		}
		rest := from.sql() + " WHERE " + conds + " " + by.sql() + " LIMIT " + limit
		return cut(q.with(func(v viewUse) string {
			if v.t == of.t {
				return of.t.topView(of.name, rest, several, v.cols)
			}
			return v.t.view(sight{}, v.hints, v.cols)
		}), a.mode, params)
	}
	r.text = rest("")
	if guard := of.t.wholeKey(of.name); guard != "" {
		r.guarded = rest(" AND " + guard)
	}
	return r
}

// clauses are those of a query that has FROM, perhaps WHERE, ORDER BY and LIMIT, the
// condition without its word; ok is false where it says so in other words (FETCH FIRST).
func (a *analysis) clauses() (from, where, order fragment, ok bool) {
	at := map[string]int{}
	for i, t := range outermost(a.toks) {
		for _, word := range []string{"FROM", "WHERE", "ORDER", "LIMIT"} {
			if _, found := at[word]; !found && t.is(word) && (word == "FROM" || at["FROM"] > 0) {
				at[word] = i
			}
		}
	}
	if at["FROM"] == 0 || at["ORDER"] < at["FROM"] || at["LIMIT"] < at["ORDER"] {
		return from, where, order, false
	}
	span := func(first, behind int) fragment { return a.fragment(a.toks[first].start, a.toks[behind-1].end) }
	behind := at["ORDER"]
	if i, found := at["WHERE"]; found {
		where, behind = span(i+1, behind), i
	}
	return span(at["FROM"], behind), where, span(at["ORDER"], at["LIMIT"]), true
}

// sql is a fragment's text.
func (f *fragment) sql() string { return strings.Join(f.pieces, "?") }

// withoutSlots tells the rows of the table called name that have no slots: of few rows
// by a look for each, of all by one look at the slots.
func (t *table) withoutSlots(name string, few bool) string {
	as := quoteIdent(name)
	if few {
		return "(SELECT 1 FROM " + t.slots() + " AS " + privateName + " WHERE " + t.sameKey(privateName, as) + " AND " + t.planned(privateName) + " LIMIT 1) IS NULL"
	}
	keys := quoteNames(t.key)
	return "(" + as + "." + strings.Join(keys, ", "+as+".") + ") NOT IN (SELECT " + privateName + "." + strings.Join(keys, ", "+privateName+".") +
		" FROM " + t.slots() + " AS " + privateName + " WHERE " + t.planned(privateName) + ")"
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

// topView is wideView with no more rows than a topRead needs: those with slots, and the
// rest, which a join may give more than once.
func (t *table) topView(name, rest string, several bool, of []*column) string {
	as := quoteIdent(name)
	var cols []string
	for _, c := range t.key {
		cols = append(cols, as+"."+quoteIdent(c.name))
	}
	for _, c := range of {
		switch {
		case t.counter(c.name) != nil:
			cols = append(cols, "0")
		case slices.Contains(t.touch, c):
			cols = append(cols, "NULL")
		}
	}
	union := " UNION ALL ("
	if several {
		union = " UNION ("
	}
	return t.joinedView("("+t.groupedSlots(of)+union+"SELECT "+strings.Join(cols, ", ")+" "+rest+")) AS "+privateName+" STRAIGHT_JOIN "+t.base(), of)
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
	if r.guards(k.conn) {
		by = r.guarded
	}
	n, ok := r.rest(k.binder())
	if !ok {
		return "", nil, false
	}
	return (&restated{by, r.params}).with(k, n)
}

// guards reports whether it fails where it can't be answered from an index.
func (r *topRead) guards(c *conn) bool { return r.guarded.pieces != nil && c.session.wholeDates }

// mayFail reports whether a query may fail though the user's would not: for the sake of a
// row that it leaves out, or because MySQL can't name a temporary table twice.
func (k *call) mayFail() bool {
	top := k.query.top
	return k.query.fallible || top != nil && (top.joined || top.guards(k.conn))
}
