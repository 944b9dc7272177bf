package countermysql

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/pingcap/tidb/pkg/parser/ast"
)

// look is a query as it was written, with hidden columns behind its select list that say
// of each counter table whether it has slots. Where none has, the base rows are the
// answer, by the plain plan and with the plain types; and as both are asked in one
// statement, they are of one moment.
type look struct {
	text   string
	tables []*table // one hidden column each
	always bool     // which rows there are depends on no counter: without any, the answer is true, too

	vain atomic.Int64 // by clock: until then it is not sent, as it had no row to tell

	rows rowLook // sent where some table has slots
}

// lookAgain is for how long a query is sent with sums at once after a look that was
// thrown away.
const lookAgain = time.Second

// look makes the text; nil where the query can't be sent twice, or has no place for
// hidden columns.
func (a *analysis) look(stmt ast.StmtNode, named []*table) *look {
	s, ok := stmt.(*ast.SelectStmt)
	if !ok || s.Kind != ast.SelectStmtKindSelect || s.LockInfo != nil || s.SelectIntoOpt != nil || a.into || a.moreLocks > 0 || a.actsTwice() {
		return nil
	}
	at, from, until := -1, len(a.toks), len(a.toks)
	for i, t := range outermost(a.toks) {
		switch {
		case at < 0 && t.is("FROM"):
			at, from = t.start, i
		case at >= 0 && (t.is("ORDER") || t.is("LIMIT")):
			until = min(until, i)
		}
	}
	if at < 0 { // SELECT EXISTS (…)
		last := len(a.toks) - 1
		for a.toks[last].punct(';') {
			last--
		}
		if s.From != nil || s.Where != nil || s.Having != nil || s.GroupBy != nil || s.OrderBy != nil || s.Limit != nil || !a.toks[0].is("SELECT") {
			return nil
		}
		at = a.toks[last].end
	}
	l := &look{tables: named}
	var hidden strings.Builder
	for _, t := range named {
		hidden.WriteString(", EXISTS (SELECT 1 FROM " + t.slots() + ")")
	}
	l.text = a.text[:at] + hidden.String() + " " + a.text[at:]
	rows := a.toks[from:until]
	l.always = !s.Distinct && s.GroupBy == nil && s.With == nil && !hasWord(rows, "SELECT", "HAVING", "NATURAL") && !readsVirtual(rows, refsOf(named))
	if l.always {
		if hidden := a.rowsLooked(s, named); hidden != nil {
			l.rows = rowLook{text: a.text[:at] + ", " + strings.Join(hidden, ", ") + " " + a.text[at:], hidden: len(hidden)}
		}
	}
	return l
}

// actsTwice reports whether it makes a difference that a query is sent twice, or what was
// sent before it: it may change something, or ask for that. What is locked must be locked
// once, and PROCEDURE makes other columns.
func (a *analysis) actsTwice() bool {
	for i, t := range a.toks {
		if t.in(acting) || t.is("PROCEDURE") || t.kind == tokVar || locks(a.toks, i) {
			return true
		}
	}
	return calls(a.toks)
}

// looks is the look that a query is to be sent as, if it may be answered as outside
// transactions.
func (c *conn) looks(k *call) lookKind {
	p := k.plan
	if p.query == nil || p.query.look == nil || !k.rows || c.next != "" && !c.inTransaction() {
		return noLook
	}
	if level := c.level(); level != repeatableRead && level != "READ COMMITTED" {
		return noLook
	}
	if k.stmt != nil && (k.stmt.mixed || p.keepsTypes) {
		return noLook // its parameters have the types that all executions together have given them
	}
	l, now := p.query.look, int64(clock())
	switch {
	case !slices.ContainsFunc(l.tables, func(t *table) bool { return now < t.slotted.Load() }):
		if now >= l.vain.Load() {
			return tableLook
		}
	case l.rows.text != "" && now >= l.rows.vain.Load():
		return eachRowLook
	}
	return noLook
}

type lookKind int

const (
	noLook      lookKind = iota
	tableLook            // has a table slots?
	eachRowLook          // has some row of the answer slots?
)

// lookFirst sends a query as a look. answered is false if it has to be sent with sums:
// there are slots, or the base rows without them are no answer.
func (c *conn) lookFirst(ctx context.Context, k *call, kind lookKind) (out outcome, answered bool, err error) {
	l := k.query.look
	text, hidden, most := l.text, len(l.tables), 1
	if kind == eachRowLook {
		text, hidden, most = l.rows.text, l.rows.hidden, maxLooked+1
	}
	k.looking = true
	out, err = k.forwardWith(ctx, k.own(text), k.args)
	k.looking = false
	if err != nil {
		return out, !l.blames(err), err
	}
	rows := &lookedRows{physicalRows: out.rows.(physicalRows), hidden: hidden}
	err = rows.peek(most)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		answered = !l.blames(err)
	case kind == eachRowLook:
		answered = l.rows.told(rows)
	default:
		answered = l.told(rows)
	}
	out.rows = rows
	if !answered {
		_ = rows.Close() // if it fails, so does what is sent next
		return outcome{}, false, nil
	}
	return out, true, nil
}

// told reports whether what the first row tells is that the rows are the answer.
func (l *look) told(rows *lookedRows) (answered bool) {
	until := int64(clock() + lookAgain)
	if len(rows.ahead) == 0 {
		if !l.always {
			l.vain.Store(until)
		}
		return l.always
	}
	answered = true
	for i, t := range l.tables {
		if rows.has(0, i) {
			t.slotted.Store(until)
			answered = false
		}
	}
	return answered
}

// blames reports whether an error may be the look's own: of a value that lacks what is in
// slots, or of a text that the server does not take.
func (l *look) blames(err error) bool {
	var e *mysql.MySQLError
	return ofRow(err) || errors.As(err, &e) && string(e.SQLState[:2]) == "42"
}

// lookedRows are the rows of a look, without its hidden columns. The first ones are read
// beforehand.
type lookedRows struct {
	physicalRows
	hidden int
	ahead  [][]driver.Value
	err    error // behind those
	row    []driver.Value
	next   int
}

var _ physicalRows = (*lookedRows)(nil)

// peek reads so many rows; the error is what comes in place of the next.
func (r *lookedRows) peek(n int) error {
	columns := len(r.physicalRows.Columns())
	for len(r.ahead) < n {
		row := make([]driver.Value, columns)
		if r.err = r.physicalRows.Next(row); r.err != nil {
			return r.err
		}
		if n > 1 { // the next overwrites them
			for i, v := range row {
				if b, ok := v.([]byte); ok {
					row[i] = bytes.Clone(b)
				}
			}
		}
		r.ahead = append(r.ahead, row)
	}
	return nil
}

// has reports whether hidden column i of a row is true.
func (r *lookedRows) has(row, i int) bool {
	values := r.ahead[row]
	return values[len(values)-r.hidden+i] != int64(0)
}

func (r *lookedRows) Next(dest []driver.Value) error {
	if r.next < len(r.ahead) {
		copy(dest, r.ahead[r.next])
		r.next++
		return nil
	}
	if err := r.err; err != nil {
		r.err = nil
		return err
	}
	if r.row == nil {
		r.row = make([]driver.Value, len(r.physicalRows.Columns()))
	}
	err := r.physicalRows.Next(r.row)
	copy(dest, r.row)
	return err
}

func (r *lookedRows) Columns() []string {
	names := r.physicalRows.Columns()
	return names[:len(names)-r.hidden]
}
