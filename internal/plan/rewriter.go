package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// rewriter makes texts of a statement in which sums stand for counters.
type rewriter struct {
	*namespace
	parsed parsed
	named  []*catalog.Table // the counter tables that it names
}

func (a *analyzer) rewriter(named []*catalog.Table) rewriter {
	return rewriter{a.namespace, a.parsed, named}
}

// sums rewrites the query parts of a statement; nil if they read no
// counter, or where, for the reason otherwise, the exact way is the only one.
func (rw rewriter) sums(stmt ast.Node) (q *Sum, otherwise string) {
	if some(stmt, func(s *ast.SelectStmt) bool { return s.Kind == ast.SelectStmtKindTable }) { // TABLE t
		return nil, "it reads the whole table by name"
	}
	if !readsVirtual(rw.toks, refsOf(rw.named)) {
		return nil, ""
	}
	refs, ok := rw.tableRefs()
	if !ok || len(refs) != rw.countTables(stmt) {
		return nil, "its FROM clause could not be followed"
	}
	if slices.ContainsFunc(refs, func(r tableRef) bool { return catalog.OwnName(r.name) }) {
		return nil, "it calls its table by a name of the driver's own"
	}
	inOrder := assignsInOrder(stmt)
	if inOrder && sqltext.AssignsWithin(rw.toks) {
		return nil, "its subquery assigns variables row by row, in an order"
	}
	converted := rw.conversions(stmt)
	if converted.exact {
		return nil, "only the table itself suits its constants"
	}
	columns := inOrder || converted.odd || rw.server.MariaDB && looksUpRows(stmt) || rw.aliasShadowsCounter(stmt)
	for i, t := range rw.toks {
		if t.Is("ROLLUP") {
			if rw.server.MariaDB { // and says of a query without rows what may be NULL otherwise
				return nil, "MariaDB groups a merged view wrongly WITH ROLLUP"
			}
			columns = true
		}
		if t.Is("DEFAULT") && i+1 < len(rw.toks) && rw.toks[i+1].Punct('(') {
			return nil, "DEFAULT(column) needs the table itself"
		}
	}
	if rw.namesakes(stmt) {
		return nil, "tables of two databases have one name"
	}
	for _, t := range rw.named {
		if slices.ContainsFunc(t.Columns, func(c *catalog.Column) bool { return c.Invisible }) {
			return nil, "the table has invisible columns"
		}
	}
	edits, ok := rw.lockings(stmt, refs)
	if !ok {
		return nil, "its locks could not be followed"
	}
	q = rw.rewrite(refs, edits, columns)
	q.Tables, q.Exact = rw.named, &Exact{Rows: allOf(rw.named)}
	q.Converted = converted
	q.Stored = !rw.onlyReads() && !rw.toks[0].Is("WITH")
	if q.columns && q.Locking {
		return nil, "it locks rows, and only a table's columns suit its names or variables"
	}
	return q, ""
}

// looksUpRows reports whether rows are looked for among those of a subquery. MariaDB
// refuses any with a sum in it (1235), and may crash when it prepares the next statement.
// What another subquery gives it may not find among sums.
func looksUpRows(stmt ast.Node) bool {
	row := func(e ast.ExprNode) bool {
		_, ok := unparen(e).(*ast.RowExpr)
		return ok || some(e, func(*ast.SubqueryExpr) bool { return true })
	}
	return some(stmt, func(e *ast.PatternInExpr) bool { return e.Sel != nil && row(e.Expr) }) ||
		some(stmt, func(e *ast.CompareSubqueryExpr) bool { return row(e.L) })
}

func refsOf(tables []*catalog.Table) []tableRef {
	refs := make([]tableRef, len(tables))
	for i, t := range tables {
		refs[i].t = t
	}
	return refs
}

// edit replaces text[start:end].
type edit struct {
	start, end int
	text       string
	ref        *tableRef // a view comes first
}

// rewrite puts views in place of the tables, and makes other edits.
func (rw rewriter) rewrite(refs []tableRef, edits []edit, columns bool) *Sum {
	merges := map[int][]string{}
	for i, r := range refs {
		edits = append(edits, edit{r.start, r.end, " AS " + sqltext.Quote(r.name), &refs[i]})
		merges[r.sel] = append(merges[r.sel], sqltext.Quote(r.name))
	}
	if !rw.server.MariaDB && !columns {
		// MySQL would materialize a derived table that holds a subquery, were it not for the hint
		// (https://dev.mysql.com/doc/refman/8.4/en/derived-table-optimization.html).
		for sel, names := range merges {
			hint := "MERGE(" + strings.Join(names, ", ") + ")"
			if next := rw.toks[sel+1]; next.Kind == sqltext.Hint {
				edits = append(edits, edit{next.Start + 3, next.Start + 3, " " + hint + " ", nil})
			} else {
				edits = append(edits, edit{rw.toks[sel].End, rw.toks[sel].End, " /*+ " + hint + " */", nil})
			}
		}
	}
	full := rw.fullNames()
	for _, t := range full { // the view has no database
		edits = append(edits, edit{t[0].Start, t[2].Start, "", nil})
	}
	slices.SortFunc(edits, func(x, y edit) int { return x.start - y.start })
	distinct := rw.server.MariaDB && sqltext.HasWord(rw.toks, "DISTINCT", "DISTINCTROW") // it may call equal columns by one name
	once := rw.server.MariaDB && sqltext.HasWord(rw.toks[1:], "SELECT")
	q := &Sum{columns: columns, Once: once, Renamed: rw.inSelectList(refs) || full != nil || rw.respelled(refs) || distinct}
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(rw.text[at:e.start])
		if e.ref != nil {
			q.text = append(q.text, b.String())
			q.views = append(q.views, ViewUse{e.ref.t, e.ref.hints, e.ref.locks, rw.columnsNamed(e.ref.t)})
			q.Locking = q.Locking || e.ref.locks.Clause != ""
			b.Reset()
		}
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(rw.text[at:])
	q.text = append(q.text, b.String())
	q.SQL = q.Render(func(ViewUse) slotsql.ReadView { return slotsql.ReadView{} }, false)
	return q
}
