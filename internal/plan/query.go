package plan

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Sum is a text in which each counter table of a FROM clause is replaced by
// a view of it: a derived table of the same name and columns whose counters are
// sums. Both servers merge it into the query, so that it costs no more than the
// sums, and every name in the user's text means what it always meant.
type Sum struct {
	Tables []*catalog.Table // whose counters it may read: pending increments come first
	Pins   []KeyValue       // the rows of the only table, if it gives their keys as numbers
	Exact  *Exact           // how it runs where the server takes no views, or a value wants columns

	text  []string // what stands between the views
	views []ViewUse
	SQL   string    // rendered outside transactions
	Top   *topRead  // sent in its place where it is known to read fewer rows
	Look  *look     // sent first: perhaps there are no slots to add
	Short *restated // sent in its place: it adds up less

	columns     bool // the views are tables, whose counters are columns and no expressions
	Renamed     bool // the server may name columns otherwise
	NamedByArgs bool // and arguments decide about that, where they are written into the text
	Into        bool // variables take the row: it returns none
	Locking     bool // some view locks what it reads
	Stored      bool // rows are made of what it reads
	others      bool // it names other tables, too
	fallible    bool // it may fail for a row's sake
	Once        bool // MariaDB may answer it wrongly when it is executed again as it was prepared

	First     []RowSet // the rows that it locks, if it locks: no more than its LIMIT says
	Keyed     []RowSet // the rows whose keys it gives, if it does not say how it locks
	Converted conversion
}

type ViewUse struct {
	Table *catalog.Table
	hints string // PARTITION and index hints
	Locks sqltext.Locking
	cols  []*catalog.Column // that the text may name: the servers take their time over each column of a view
}

func (*Sum) class() Class      { return ClassSum }
func (q *Sum) exactly() *Exact { return q.Exact }

// Render writes the text with the views as the transaction sees them.
func (q *Sum) Render(as func(ViewUse) slotsql.ReadView, tables bool) string {
	return q.with(func(v ViewUse) string {
		if tables || q.columns {
			return slotsql.View(v.Table, as(v), v.hints+everyRow, v.cols)
		}
		return slotsql.View(v.Table, as(v), v.hints, v.cols)
	})
}

// everyRow keeps both servers from merging a view into the query.
const everyRow = " LIMIT 18446744073709551615"

// Lockings are the ways in which the query locks a table, those that do first.
func (q *Sum) Lockings(t *catalog.Table) []sqltext.Locking {
	var all []sqltext.Locking
	for _, v := range q.views {
		switch {
		case v.Table != t || slices.Contains(all, v.Locks):
		case v.Locks.Clause != "":
			all = slices.Insert(all, 0, v.Locks)
		default:
			all = append(all, v.Locks)
		}
	}
	if all == nil {
		all = []sqltext.Locking{{}} // the table is written
	}
	return all
}

// renderWide writes the text with wide views.
func (q *Sum) renderWide() string {
	return q.with(func(v ViewUse) string { return slotsql.WideView(v.Table, v.hints, v.cols) })
}

func (q *Sum) with(view func(ViewUse) string) string {
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
func (a *analyzer) rewrite(refs []tableRef, edits []edit, columns bool) *Sum {
	merges := map[int][]string{}
	for i, r := range refs {
		edits = append(edits, edit{r.start, r.end, " AS " + sqltext.Quote(r.name), &refs[i]})
		merges[r.sel] = append(merges[r.sel], sqltext.Quote(r.name))
	}
	if !a.server.MariaDB && !columns {
		// MySQL would materialize a derived table that holds a subquery, were it not for the hint
		// (https://dev.mysql.com/doc/refman/8.4/en/derived-table-optimization.html).
		for sel, names := range merges {
			hint := "MERGE(" + strings.Join(names, ", ") + ")"
			if next := a.toks[sel+1]; next.Kind == sqltext.Hint {
				edits = append(edits, edit{next.Start + 3, next.Start + 3, " " + hint + " ", nil})
			} else {
				edits = append(edits, edit{a.toks[sel].End, a.toks[sel].End, " /*+ " + hint + " */", nil})
			}
		}
	}
	full := a.fullNames()
	for _, t := range full { // the view has no database
		edits = append(edits, edit{t[0].Start, t[2].Start, "", nil})
	}
	slices.SortFunc(edits, func(x, y edit) int { return x.start - y.start })
	distinct := a.server.MariaDB && sqltext.HasWord(a.toks, "DISTINCT", "DISTINCTROW") // it may call equal columns by one name
	once := a.server.MariaDB && sqltext.HasWord(a.toks[1:], "SELECT")
	q := &Sum{columns: columns, Once: once, Renamed: a.inSelectList(refs) || full != nil || a.respelled(refs) || distinct}
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(a.text[at:e.start])
		if e.ref != nil {
			q.text = append(q.text, b.String())
			q.views = append(q.views, ViewUse{e.ref.t, e.ref.hints, e.ref.locks, a.columnsNamed(e.ref.t)})
			q.Locking = q.Locking || e.ref.locks.Clause != ""
			b.Reset()
		}
		b.WriteString(e.text)
		at = e.end
	}
	b.WriteString(a.text[at:])
	q.text = append(q.text, b.String())
	q.SQL = q.Render(func(ViewUse) slotsql.ReadView { return slotsql.ReadView{} }, false)
	return q
}

// selection plans a SELECT, a UNION, a WITH.
func (a *analyzer) selection(stmt ast.StmtNode, named []*catalog.Table) *Plan {
	q, p := a.sums(stmt, named)
	if p != nil {
		return p
	}
	one, isOne := a.single(stmt, named)
	if q == nil {
		read := &BaseRead{Tables: named}
		if isOne {
			read.Pins = one.readPins()
		}
		return &Plan{Work: read}
	}
	if isOne && !q.columns {
		if one.wide() {
			q.SQL, q.Short = q.renderWide(), one.countByDifference()
		} else if spliced, together := one.splice(); spliced != "" {
			q.SQL, q.Short = spliced, together
		}
	}
	q.Into = a.parsed.into
	q.Look = a.look(stmt, named)
	q.fallible = !a.parsed.into && !q.columns && !q.Locking && a.fallible(stmt)
	q.others = some(stmt, func(t *ast.TableName) bool { return a.lookup(t) == nil })
	if !a.parsed.into && !q.columns {
		q.Top = a.top(stmt, named, q)
	}
	q.NamedByArgs = q.Renamed && namedByArgs(stmt)
	switch {
	case !isOne:
	case q.Locking:
		q.Pins = one.readPins()
		q.Exact.Rows, q.First = one.lockedRows(a.parsed.into)
	default:
		q.Pins, q.Keyed = one.readPins(), one.keyedRows()
	}
	return &Plan{Work: q}
}

// readToWrite plans a statement that writes another table by what it reads of counter
// tables.
func (a *analyzer) readToWrite(stmt ast.Node, named []*catalog.Table) *Plan {
	q, p := a.sums(stmt, named)
	switch {
	case p != nil:
		return p
	case q == nil:
		return &Plan{}
	}
	return &Plan{Work: q}
}

// sums rewrites the query parts of a statement; nil if they read no counter,
// and a plan where the exact way is the only one.
func (a *analyzer) sums(stmt ast.Node, named []*catalog.Table) (*Sum, *Plan) {
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
	if inOrder && sqltext.AssignsWithin(a.toks) {
		return nil, a.opaque(named, nil, "its subquery assigns variables row by row, in an order")
	}
	converted := a.conversions(stmt, named)
	if converted.exact {
		return nil, a.opaque(named, nil, "only the table itself suits its constants")
	}
	columns := inOrder || converted.odd || a.server.MariaDB && looksUpRows(stmt) || a.ambiguous(stmt, named)
	for i, t := range a.toks {
		if t.Is("ROLLUP") {
			if a.server.MariaDB { // and says of a query without rows what may be NULL otherwise
				return nil, a.opaque(named, nil, "MariaDB groups a merged view wrongly WITH ROLLUP")
			}
			columns = true
		}
		if t.Is("DEFAULT") && i+1 < len(a.toks) && a.toks[i+1].Punct('(') {
			return nil, a.opaque(named, nil, "DEFAULT(column) needs the table itself")
		}
	}
	if a.namesakes(stmt) {
		return nil, a.opaque(named, nil, "tables of two databases have one name")
	}
	for _, t := range named {
		if slices.ContainsFunc(t.Columns, func(c *catalog.Column) bool { return c.Invisible }) {
			return nil, a.opaque(named, nil, "the table has invisible columns")
		}
	}
	edits, ok := a.lockings(stmt, refs)
	if !ok {
		return nil, a.opaque(named, nil, "its locks could not be followed")
	}
	q := a.rewrite(refs, edits, columns)
	q.Tables, q.Exact = named, &Exact{Rows: allOf(named)}
	q.Converted = converted
	q.Stored = !a.onlyReads() && !a.toks[0].Is("WITH")
	if q.columns && q.Locking {
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

func refsOf(tables []*catalog.Table) []tableRef {
	refs := make([]tableRef, len(tables))
	for i, t := range tables {
		refs[i].t = t
	}
	return refs
}
