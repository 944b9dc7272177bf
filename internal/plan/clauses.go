package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// whereSpan is the text of the statement's own WHERE condition; start is 0 if it has
// none, or stands in parentheses as a whole.
func (st *statement) whereSpan() (start, end int) {
	for i, t := range sqltext.Outermost(st.toks) {
		switch {
		case start == 0 && t.Is("WHERE"):
			start = t.End
		case start > 0 && t.Is("RETURNING") && !st.server.MariaDB: // a name
		case start > 0 && (t.In(sqltext.EndOfWhere) || t.Punct(';')):
			return start, st.toks[i-1].End
		}
	}
	return start, st.toks[len(st.toks)-1].End
}

// tail is a statement's condition, order and limit: what stands between WHERE, or the
// FROM clause, and the locks of a SELECT. ok is false where it stands in parentheses.
func (st *statement) tail(where bool) (f Template, ok bool) {
	start, end := -1, st.toks[len(st.toks)-1].End
	for i, t := range sqltext.Outermost(st.toks) {
		if sqltext.Locks(st.toks, i) || t.Punct(';') || start >= 0 && t.Is("RETURNING") && st.server.MariaDB {
			end = st.toks[i-1].End
			break
		}
		switch {
		case start >= 0:
		case where && t.Is("WHERE"):
			start = t.End
		case !where && (sqltext.Orders(st.toks, i) || t.Is("LIMIT") || t.Is("FETCH")):
			start = t.Start
		}
	}
	if start < 0 || end < start {
		return f, false
	}
	f = st.template(start, end)
	if !where {
		f.pieces[0] = "TRUE " + f.pieces[0]
	}
	return f, true
}

// clauses are those of a query that has FROM, perhaps WHERE, ORDER BY and LIMIT, the
// condition without its word; ok is false where it says so in other words (FETCH FIRST).
func (st *statement) clauses() (from, where, order Template, ok bool) {
	at := map[string]int{}
	for i, t := range sqltext.Outermost(st.toks) {
		for _, word := range []string{"FROM", "WHERE", "ORDER", "LIMIT"} {
			if _, found := at[word]; !found && t.Is(word) && (word == "FROM" || at["FROM"] > 0) && (word != "ORDER" || sqltext.Orders(st.toks, i)) {
				at[word] = i
			}
		}
	}
	if at["FROM"] == 0 || at["ORDER"] < at["FROM"] || at["LIMIT"] < at["ORDER"] {
		return from, where, order, false
	}
	span := func(first, behind int) Template { return st.template(st.toks[first].Start, st.toks[behind-1].End) }
	behind := at["ORDER"]
	if i, found := at["WHERE"]; found {
		where, behind = span(i+1, behind), i
	}
	return span(at["FROM"], behind), where, span(at["ORDER"], at["LIMIT"]), true
}

// countsRows reports whether a select list is COUNT(*) and perhaps an alias.
func (st *statement) countsRows(s *ast.SelectStmt) bool {
	if len(s.Fields.Fields) != 1 || !st.toks[0].Is("SELECT") || !sqltext.WordAt(st.toks, 1, "COUNT") || len(st.toks) < 6 ||
		!st.toks[2].Punct('(') || !st.toks[3].Punct('*') || !st.toks[4].Punct(')') || st.toks[1].End != st.toks[2].Start {
		return false
	}
	count, ok := s.Fields.Fields[0].Expr.(*ast.AggregateFuncExpr)
	return ok && strings.EqualFold(count.F, ast.AggFuncCount) && !count.Distinct
}

// inSelectList reports whether a table stands in a subquery of some select list,
// whose text is the name of a column without an alias.
func (st *statement) inSelectList(refs []tableRef) bool {
	lists := sqltext.Nest[bool]{false} // between SELECT and FROM
	for _, t := range st.toks {
		switch {
		case lists.Follow(t, false):
		case t.Is("SELECT"):
			*lists.Top() = true
		case t.Is("FROM"):
			*lists.Top() = false
		}
		if slices.Contains(lists, true) && slices.ContainsFunc(refs, func(r tableRef) bool { return r.start == t.Start }) {
			return true
		}
	}
	return false
}

// columnsNamed are the columns of a table that the statement may name, and its key.
func (st *statement) columnsNamed(t *catalog.Table) []*catalog.Column {
	named := map[string]bool{}
	for i, tok := range st.toks {
		switch {
		case tok.Is("NATURAL"), tok.Is("USING"), tok.Punct('*') && !(st.toks[i-1].Punct('(') && i+1 < len(st.toks) && st.toks[i+1].Punct(')')):
			return t.Columns
		case tok.Ident():
			named[strings.ToLower(tok.Name)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c *catalog.Column) bool { return !named[strings.ToLower(c.Name)] && !slices.Contains(t.Key, c) })
}

// respelled reports whether the text writes a column's name in other letters than
// the table has, or in two ways: the server names a view's columns as the view does.
func (st *statement) respelled(refs []tableRef) bool {
	spelled := map[string]string{}
	for _, t := range st.toks {
		folded := strings.ToLower(t.Name)
		if was := spelled[folded]; t.Ident() && was != "" && was != t.Name {
			return true
		}
		spelled[folded] = t.Name
	}
	return slices.ContainsFunc(st.toks, func(t sqltext.Token) bool {
		return t.Ident() && slices.ContainsFunc(refs, func(r tableRef) bool {
			c := r.t.Column(t.Name)
			return c != nil && c.Name != t.Name
		})
	})
}
