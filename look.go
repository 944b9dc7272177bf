package countermysql

import (
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
	l.always = !s.Distinct && s.GroupBy == nil && s.With == nil && !hasWord(rows, "SELECT", "HAVING") && !readsVirtual(rows, refsOf(named))
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

// looks reports whether a query that may be answered as outside transactions is to be
// sent as a look.
func (c *conn) looks(k *call) bool {
	p := k.plan
	if p.query == nil || p.query.look == nil || !k.rows || c.next != "" && !c.inTransaction() {
		return false
	}
	if level := c.level(); level != repeatableRead && level != "READ COMMITTED" {
		return false
	}
	if k.stmt != nil && (k.stmt.mixed || p.keepsTypes) {
		return false // its parameters have the types that all executions together have given them
	}
	now := int64(clock())
	return now >= p.query.look.vain.Load() && !slices.ContainsFunc(p.query.look.tables, func(t *table) bool { return now < t.slotted.Load() })
}

// lookFirst sends a query as a look. answered is false if it has to be sent with sums:
// there are slots, or the base rows without them are no answer.
func (c *conn) lookFirst(ctx context.Context, k *call) (out outcome, answered bool, err error) {
	l := k.query.look
	k.looking = true
	out, err = k.forwardWith(ctx, k.own(l.text), k.args)
	k.looking = false
	if err != nil {
		return out, !l.blames(err), err
	}
	rows := &lookedRows{physicalRows: out.rows.(physicalRows), hidden: len(l.tables)}
	until := int64(clock() + lookAgain)
	switch err := rows.peek(); {
	case errors.Is(err, io.EOF):
		if answered = l.always; !answered {
			l.vain.Store(until)
		}
	case err != nil:
		answered = !l.blames(err)
	default:
		answered = true
		for i, t := range l.tables {
			if rows.has(i) {
				t.slotted.Store(until)
				answered = false
			}
		}
	}
	out.rows = rows
	if !answered {
		_ = rows.Close() // if it fails, so does what is sent next
		return outcome{}, false, nil
	}
	return out, true, nil
}

// blames reports whether an error may be the look's own: of a value that lacks what is in
// slots, or of a text that the server does not take.
func (l *look) blames(err error) bool {
	var e *mysql.MySQLError
	return ofRow(err) || errors.As(err, &e) && string(e.SQLState[:2]) == "42"
}

// lookedRows are the rows of a look, without its hidden columns. The first is read
// beforehand.
type lookedRows struct {
	physicalRows
	hidden int
	row    []driver.Value
	err    error // of the first
	peeked bool
}

var _ physicalRows = (*lookedRows)(nil)

func (r *lookedRows) peek() error {
	r.row = make([]driver.Value, len(r.physicalRows.Columns()))
	r.err, r.peeked = r.physicalRows.Next(r.row), true
	return r.err
}

// has reports whether table i of the look has slots.
func (r *lookedRows) has(i int) bool { return r.row[len(r.row)-r.hidden+i] != int64(0) }

func (r *lookedRows) Next(dest []driver.Value) error {
	err := r.err
	if !r.peeked {
		err = r.physicalRows.Next(r.row)
	}
	r.peeked = false
	copy(dest, r.row)
	return err
}

func (r *lookedRows) Columns() []string {
	names := r.physicalRows.Columns()
	return names[:len(names)-r.hidden]
}
