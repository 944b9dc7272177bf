package plan

import (
	"slices"
	"strings"

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
	Keys   []KeyValue       // the rows of the only table, if it gives their keys as numbers
	Exact  *Exact           // how it runs where the server takes no views, or a value wants columns

	text  []string // what stands between the views
	views []ViewUse
	SQL   string    // rendered outside transactions
	Top   *topRead  // sent in its place where it is known to read fewer rows
	Look  *look     // sent first: perhaps there are no slots to add
	Short *restated // sent in its place: it adds up less
	Apart Apart     // of the query as it was written, and of its look

	columns       bool // the views are tables, whose counters are columns and no expressions
	Renamed       bool // the server may name columns otherwise
	NamedByArgs   bool // and arguments decide about that, where they are written into the text
	Into          bool // variables take the row: it returns none
	Locking       bool // some view locks what it reads
	Stored        bool // rows are made of what it reads
	others        bool // it names other tables, too
	mayFailPerRow bool // it may fail for a row's sake
	Once          bool // MariaDB may answer it wrongly when it is executed again as it was prepared

	Locked    *LockedRow // sent in its place inside transactions: perhaps the row has no slots
	First     []RowSet   // the rows that it locks, if it locks: no more than its LIMIT says
	Keyed     []RowSet   // the rows whose keys it gives, if it does not say how it locks
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
const everyRow = " LIMIT " + sqltext.NoLimit

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

// viewsOnce reports whether the query reads the table in one place, as it finds it.
func (q *Sum) viewsOnce(t *catalog.Table) bool {
	n := 0
	for _, v := range q.views {
		if v.Table == t && v.hints != "" {
			return false
		}
		if v.Table == t {
			n++
		}
	}
	return n == 1
}

// Computes reports whether the server may give what the query computes from a
// sum another type than it has from a column. A FLOAT beside a small integer is a
// FLOAT, beside a sum a DOUBLE; other tables may have one. What is UNSIGNED beside a
// small integer is an INT UNSIGNED, beside a sum a BIGINT.
func (q *Sum) Computes() bool {
	return slices.ContainsFunc(q.Tables, func(t *catalog.Table) bool {
		floats := q.others || slices.ContainsFunc(t.Columns, func(c *catalog.Column) bool { return c.DataType == "float" })
		return slices.ContainsFunc(t.Counters, func(c *catalog.Column) bool {
			bits := catalog.IntegerBits[c.DataType] // of a DECIMAL: 0
			return c.Unsigned() && c.DataType != "bigint" || bits < 32 && (bits > 0 || floats)
		})
	})
}

// MayFail reports whether a query may fail though the user's would not: for the sake of a
// row that it leaves out, or because MySQL can't name a temporary table twice.
func (q *Sum) MayFail(wholeDates bool) bool {
	return q.mayFailPerRow || q.Top != nil && (q.Top.joined || q.Top.guards(wholeDates))
}
