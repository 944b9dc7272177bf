package countermysql

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"
)

// query is a text in which each counter table of a FROM clause is replaced by
// a view of it: a derived table of the same name and columns whose counters are
// sums. Both servers merge it into the query, so that it costs no more than the
// sums, and every name in the user's text means what it always meant.
type query struct {
	text  []string // what stands between the views
	views []viewUse
	sql   string    // rendered outside transactions
	top   *topRead  // sent in its place where it is known to read fewer rows
	look  *look     // sent first: perhaps there are no slots to add
	short *restated // sent in its place: it adds up less

	columns  bool // the views are tables, whose counters are columns and no expressions
	renamed  bool // the server may name columns otherwise
	into     bool // variables take the row: it returns none
	locking  bool // some view locks what it reads
	stored   bool // rows are made of what it reads
	others   bool // it names other tables, too
	fallible bool // it may fail for a row's sake
	once     bool // MariaDB may answer it wrongly when it is executed again as it was prepared

	first     []scope // the rows that it locks, if it locks: no more than its LIMIT says
	keyed     []scope // the rows whose keys it gives, if it does not say how it locks
	converted conversion
}

type viewUse struct {
	t     *table
	hints string // PARTITION and index hints
	locks locking
	cols  []*column // that the text may name: the servers take their time over each column of a view
}

// render writes the text with the views as the transaction sees them.
func (q *query) render(as func(viewUse) sight, tables bool) string {
	return q.with(func(v viewUse) string {
		if tables || q.columns {
			return v.t.view(as(v), v.hints+everyRow, v.cols)
		}
		return v.t.view(as(v), v.hints, v.cols)
	})
}

// everyRow keeps both servers from merging a view into the query.
const everyRow = " LIMIT 18446744073709551615"

// lockings are the ways in which the query locks a table, those that do first.
func (q *query) lockings(t *table) []locking {
	var all []locking
	for _, v := range q.views {
		switch {
		case v.t != t || slices.Contains(all, v.locks):
		case v.locks.clause != "":
			all = slices.Insert(all, 0, v.locks)
		default:
			all = append(all, v.locks)
		}
	}
	if all == nil {
		all = []locking{{}} // the table is written
	}
	return all
}

// renderWide writes the text with wide views.
func (q *query) renderWide() string {
	return q.with(func(v viewUse) string { return v.t.wideView(v.hints, v.cols) })
}

func (q *query) with(view func(viewUse) string) string {
	var b strings.Builder
	for i, v := range q.views {
		b.WriteString(q.text[i])
		b.WriteString(view(v))
	}
	b.WriteString(q.text[len(q.text)-1])
	return b.String()
}

// edit replaces text[start:end].
type edit struct {
	start, end int
	text       string
	ref        *tableRef // a view comes first
}

// rewrite puts views in place of the tables, and makes other edits.
func (a *analysis) rewrite(refs []tableRef, edits []edit, columns bool) *query {
	merges := map[int][]string{}
	for i, r := range refs {
		edits = append(edits, edit{r.start, r.end, " AS " + quoteIdent(r.name), &refs[i]})
		merges[r.sel] = append(merges[r.sel], quoteIdent(r.name))
	}
	if !a.schema.server.mariaDB && !columns {
		// MySQL would materialize a derived table that holds a subquery, were it not for the hint
		// (https://dev.mysql.com/doc/refman/8.4/en/derived-table-optimization.html).
		for sel, names := range merges {
			hint := "MERGE(" + strings.Join(names, ", ") + ")"
			if next := a.toks[sel+1]; next.kind == tokHint {
				edits = append(edits, edit{next.start + 3, next.start + 3, " " + hint + " ", nil})
			} else {
				edits = append(edits, edit{a.toks[sel].end, a.toks[sel].end, " /*+ " + hint + " */", nil})
			}
		}
	}
	full := a.fullNames()
	for _, t := range full { // the view has no database
		edits = append(edits, edit{t[0].start, t[2].start, "", nil})
	}
	slices.SortFunc(edits, func(x, y edit) int { return x.start - y.start })
	distinct := a.schema.server.mariaDB && hasWord(a.toks, "DISTINCT", "DISTINCTROW") // it may call equal columns by one name
	once := a.schema.server.mariaDB && hasWord(a.toks[1:], "SELECT")
	q := &query{columns: columns, once: once, renamed: a.inSelectList(refs) || full != nil || a.respelled(refs) || distinct}
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(a.text[at:e.start])
		if e.ref != nil {
			q.text = append(q.text, b.String())
			q.views = append(q.views, viewUse{e.ref.t, e.ref.hints, e.ref.locks, a.columnsNamed(e.ref.t)})
			q.locking = q.locking || e.ref.locks.clause != ""
			b.Reset()
		}
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(a.text[at:])
	q.text = append(q.text, b.String())
	q.sql = q.render(func(viewUse) sight { return sight{} }, false)
	return q
}

// columnsNamed are the columns of a table that the statement may name, and its key.
func (a *analysis) columnsNamed(t *table) []*column {
	named := map[string]bool{}
	for i, tok := range a.toks {
		switch {
		case tok.is("NATURAL"), tok.is("USING"), tok.punct('*') && !(a.toks[i-1].punct('(') && i+1 < len(a.toks) && a.toks[i+1].punct(')')):
			return t.cols
		case tok.ident():
			named[strings.ToLower(tok.name)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(t.cols), func(c *column) bool { return !named[strings.ToLower(c.name)] && !slices.Contains(t.key, c) })
}

// respelled reports whether the text writes a column's name in other letters than
// the table has, or in two ways: the server names a view's columns as the view does.
func (a *analysis) respelled(refs []tableRef) bool {
	spelled := map[string]string{}
	for _, t := range a.toks {
		folded := strings.ToLower(t.name)
		if was := spelled[folded]; t.ident() && was != "" && was != t.name {
			return true
		}
		spelled[folded] = t.name
	}
	return slices.ContainsFunc(a.toks, func(t token) bool {
		return t.ident() && slices.ContainsFunc(refs, func(r tableRef) bool {
			c := r.t.column(t.name)
			return c != nil && c.name != t.name
		})
	})
}

// inSelectList reports whether a table stands in a subquery of some select list,
// whose text is the name of a column without an alias.
func (a *analysis) inSelectList(refs []tableRef) bool {
	lists := nest[bool]{false} // between SELECT and FROM
	for _, t := range a.toks {
		switch {
		case lists.follow(t, false):
		case t.is("SELECT"):
			*lists.top() = true
		case t.is("FROM"):
			*lists.top() = false
		}
		if slices.Contains(lists, true) && slices.ContainsFunc(refs, func(r tableRef) bool { return r.start == t.start }) {
			return true
		}
	}
	return false
}

// selection plans a SELECT, a UNION, a WITH.
func (a *analysis) selection(stmt ast.StmtNode, named []*table) *plan {
	q, p := a.sums(stmt, named)
	if p != nil {
		return p
	}
	if q == nil {
		return &plan{shows: named, pins: a.readPins(stmt, named)} // reads no counter
	}
	if !q.columns {
		if a.wide(stmt, named) {
			q.sql, q.short = q.renderWide(), a.countByDifference(stmt, named)
		} else if spliced, together := a.splice(stmt, named); spliced != "" {
			q.sql, q.short = spliced, together
		}
	}
	q.into = a.into
	q.look = a.look(stmt, named)
	q.fallible = !a.into && !q.columns && !q.locking && a.fallible(stmt)
	q.others = some(stmt, func(t *ast.TableName) bool { return a.schema.lookup(t.Schema.O, t.Name.O, a.db) == nil })
	if !a.into && !q.columns {
		q.top = a.top(stmt, named, q)
	}
	p = &plan{class: summing, query: q, reads: named, scopes: allOf(named), namedByArgs: q.renamed && namedByArgs(stmt)}
	p.pins = a.readPins(stmt, named)
	if q.locking {
		p.scopes, q.first = a.lockedRows(stmt, named)
	} else {
		q.keyed = a.keyedRows(stmt, named)
	}
	return p
}

// readToWrite plans a statement that writes another table by what it reads of counter
// tables.
func (a *analysis) readToWrite(stmt ast.Node, named []*table) *plan {
	q, p := a.sums(stmt, named)
	switch {
	case p != nil:
		return p
	case q == nil:
		return &plan{}
	}
	return &plan{class: summing, query: q, reads: named, scopes: allOf(named)}
}

// sums rewrites the query parts of a statement; nil if they read no counter,
// and a plan where the exact way is the only one.
func (a *analysis) sums(stmt ast.Node, named []*table) (*query, *plan) {
	if some(stmt, func(s *ast.SelectStmt) bool { return s.Kind == ast.SelectStmtKindTable }) { // TABLE t
		return nil, a.opaque(named, nil, "it reads the whole table by name")
	}
	if !readsVirtual(a.toks, refsOf(named)) {
		return nil, nil
	}
	refs, ok := a.tableRefs()
	if !ok || len(refs) != a.countTables(stmt) {
		return nil, a.opaque(named, nil, "its FROM clause could not be followed")
	}
	inOrder := assignsInOrder(stmt)
	if inOrder && assignsWithin(a.toks) {
		return nil, a.opaque(named, nil, "its subquery assigns variables row by row, in an order")
	}
	converted := a.conversions(stmt, named)
	if converted.exact {
		return nil, a.opaque(named, nil, "only the table itself suits its constants")
	}
	columns := inOrder || converted.odd || a.schema.server.mariaDB && looksUpRows(stmt) || a.ambiguous(stmt, named)
	for i, t := range a.toks {
		if t.is("ROLLUP") {
			if a.schema.server.mariaDB { // and says of a query without rows what may be NULL otherwise
				return nil, a.opaque(named, nil, "MariaDB groups a merged view wrongly WITH ROLLUP")
			}
			columns = true
		}
		if t.is("DEFAULT") && i+1 < len(a.toks) && a.toks[i+1].punct('(') {
			return nil, a.opaque(named, nil, "DEFAULT(column) needs the table itself")
		}
	}
	if a.namesakes(stmt) {
		return nil, a.opaque(named, nil, "tables of two databases have one name")
	}
	for _, t := range named {
		if slices.ContainsFunc(t.cols, func(c *column) bool { return c.invisible }) {
			return nil, a.opaque(named, nil, "the table has invisible columns")
		}
	}
	edits, ok := a.lockings(stmt, refs)
	if !ok {
		return nil, a.opaque(named, nil, "its locks could not be followed")
	}
	q := a.rewrite(refs, edits, columns)
	q.converted = converted
	q.stored = !a.onlyReads() && !a.toks[0].is("WITH")
	if q.columns && q.locking {
		return nil, a.opaque(named, nil, "it locks rows, and only a table's columns suit its names or variables")
	}
	return q, nil
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

func refsOf(tables []*table) []tableRef {
	refs := make([]tableRef, len(tables))
	for i, t := range tables {
		refs[i].t = t
	}
	return refs
}

// countTables counts the places where the statement's FROM clauses name counter tables.
func (a *analysis) countTables(stmt ast.Node) int {
	n := 0
	one := func(t *ast.TableName) int {
		if a.schema.lookup(t.Schema.O, t.Name.O, a.db) != nil {
			return 1
		}
		return 0
	}
	every(stmt, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.TableName:
			n += one(node)
		case *ast.SelectStmt:
			if node.LockInfo != nil {
				for _, t := range node.LockInfo.Tables {
					n -= one(t) // FOR UPDATE OF t, which is visited too
				}
			}
		}
		return true
	})
	if insert, ok := stmt.(*ast.InsertStmt); ok && insert.Table != nil {
		if source := singleTable(insert.Table); source != nil && a.target(source) != nil {
			n-- // the table that is written
		}
	}
	return n
}

// readPins are the keys of the rows that a query of one table reads, if it
// gives them as numbers: those compare in one way only.
func (a *analysis) readPins(stmt ast.StmtNode, named []*table) []pin {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || len(named) != 1 || s.From == nil || s.With != nil || a.countTables(stmt) != 1 {
		return nil
	}
	source := singleTable(s.From)
	t := named[0]
	if source == nil || a.target(source) != t || len(t.key) == 0 || slices.ContainsFunc(t.key, func(c *column) bool { return !c.integer() }) {
		return nil
	}
	if pins := a.pins(t, nameOf(source), s.Where); slices.Equal(keyColumns(pins), t.key) {
		return pins
	}
	return nil
}

// singleTable returns the only table of a FROM clause, or nil.
func singleTable(refs *ast.TableRefsClause) *ast.TableSource {
	if refs == nil || refs.TableRefs == nil || refs.TableRefs.Right != nil {
		return nil
	}
	source, ok := refs.TableRefs.Left.(*ast.TableSource)
	if !ok {
		return nil
	}
	if _, ok := source.Source.(*ast.TableName); !ok {
		return nil
	}
	return source
}

// target returns the counter table that a table source names, or nil.
func (a *analysis) target(source *ast.TableSource) *table {
	name := source.Source.(*ast.TableName)
	return a.schema.lookup(name.Schema.O, name.Name.O, a.db)
}

func nameOf(source *ast.TableSource) string {
	if source.AsName.O != "" {
		return source.AsName.O
	}
	return source.Source.(*ast.TableName).Name.O
}
