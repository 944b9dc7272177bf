package read

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/exact"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
)

// Statement is how a query of the application's is sent.
type Statement interface {
	exact.Statement
	SendWith(ctx context.Context, text string, args []driver.NamedValue) (answer.Outcome, error) // with arguments that may be others
	SendSums(ctx context.Context, text string, args []driver.NamedValue) (answer.Outcome, error) // likewise, of a text that is the same at all times
	SendLook(ctx context.Context, text string) (answer.Outcome, error)                           // made from the plan's, for its answer, if that will do
}

// Execution is one execution of a query, or of a data change that reads counters.
type Execution struct {
	Statement
	Plan      *plan.Plan
	State     *State // of its plan
	Text      string // as it was written
	Args      []driver.NamedValue
	Arguments plan.Arguments
	Rows      bool // it was asked for rows
	Prepared  bool
	Temporary bool // it may name a temporary table, which its session alone knows

	tables    bool // views have to be tables
	corrected bool // the slots of fresh rows are read apart
}

// State is what the executions of one plan have in common.
type State struct {
	looks [kinds]traffic.Look
	types answer.KeptTypes // of the query as it was written
}

// Reader answers queries in one session.
type Reader struct{ *exact.Runner }

// New returns the Reader of a session.
func New(r *exact.Runner) *Reader { return &Reader{r} }

// Run sends a query, or a data change that reads counters, as it is or with sums. What the
// server refuses for our sake runs the exact way.
func (r *Reader) Run(ctx context.Context, x *Execution) (answer.Outcome, error) {
	p, q := x.Plan, x.Plan.Sum()
	r.Stats.Sums.Add(1)
	if out, answered, err := r.lockFirst(ctx, x); answered {
		r.HasSnapshot = r.HasSnapshot || p.Fixes && err == nil
		return out, err
	}
	text, args, sees, err := r.rewritten(ctx, x)
	if err != nil {
		return answer.Outcome{}, err
	}
	if sees != asOwner {
		for kind := r.looks(ctx, x, sees); kind != noLook; kind = x.looksAgain(kind, sees) {
			out, answered, err := r.lookFirst(ctx, x, kind)
			r.HasSnapshot = r.HasSnapshot || p.Fixes && err == nil
			if answered {
				return out, err
			}
		}
	}
	if sees == ifNone {
		if text, args, sees, err = r.corrected(ctx, x); err != nil {
			return answer.Outcome{}, err
		}
	}
	types := r.temporaryTypes(ctx, x)
	var out answer.Outcome
	err = r.AgainAlone(ctx, p.Once, func() (err error) {
		if sees == asOthers {
			out, err = x.SendSums(ctx, text, args)
		} else {
			out, err = x.SendWith(ctx, text, args)
		}
		return mysqlerr.AsKilled(err)
	})
	if q.MayFail(r.Settings.WholeDates) {
		out, err = r.overTables(ctx, x, out, err)
	}
	r.HasSnapshot = r.HasSnapshot || p.Fixes && err == nil
	switch n := mysqlerr.Number(err); {
	case err == nil:
	case mysqlerr.NotResolved[n], errors.Is(err, mysql.ErrPktTooLarge):
		if r.Outdated(ctx, p, err) {
			return answer.Outcome{}, fold.ErrOtherSlots
		}
		// perhaps it is the view that the server does not like here, or a packet has no room for: then the base table has to do
		r.Stats.Exactly("the server does not accept the view")
		return r.RunExactly(ctx, exact.Execution{Statement: x.Statement, Exact: p.Exactly(), Plan: p, Text: x.Text, Arguments: x.Arguments, Asked: x.Rows})
	default:
		return out, err
	}
	r.NoteWrites(p.Writes, x.Arguments.Binder, out.Affected())
	if x.Rows {
		out.Rows = r.asPlain(out.Rows, x, types)
	}
	return out, nil
}

// sight is how a query reads counters.
type sight uint8

const (
	asOwner  sight = iota // of rows that its transaction has written, as nobody else does
	ifNone                // as any other session does, if there are no slots, or those of no row that it reads
	asOthers              // as any other session does
)

// rewritten is the text to send for a query, with views where it reads counters, and its
// arguments.
func (r *Reader) rewritten(ctx context.Context, x *Execution) (text string, args []driver.NamedValue, sees sight, err error) {
	q := x.Plan.Sum()
	if !q.Locking && !r.Shares(q) && r.Open() == nil {
		text, args = x.Summed(r.Settings.WholeDates)
		return text, args, asOthers, nil
	}
	type use struct {
		t *catalog.Table
		l sqltext.Locking
	}
	views := map[use]slotsql.ReadView{}
	sees = asOthers
	fresh, locks := false, false
	for _, t := range q.Tables {
		for _, l := range q.Lockings(t) {
			s, err := r.View(ctx, t, l, q, x.Arguments.Binder, x.corrected)
			if err != nil {
				return "", nil, asOwner, err
			}
			if s.Locks != "" || s.Own != nil || s.Pending != nil {
				sees = asOwner
			}
			fresh, locks = fresh || s.Fresh, locks || s.Locks != ""
			views[use{t, l}] = s
		}
	}
	switch {
	case fresh && sees == asOwner:
		return r.corrected(ctx, x)
	case fresh:
		return "", nil, ifNone, nil
	case sees == asOthers:
		text, args = x.Summed(r.Settings.WholeDates)
		return text, args, asOthers, nil
	}
	text = x.Own(q.Render(func(v plan.ViewUse) slotsql.ReadView { return views[use{v.Table, v.Locks}] }, x.tables))
	if locks && !q.Locking && !q.Stored { // which plain MySQL does not, and so never refuses a row that has changed
		text = r.Settings.Unsnapshot() + text
	}
	return text, x.Args, asOwner, nil
}

// corrected is rewritten where fresh rows may have slots.
func (r *Reader) corrected(ctx context.Context, x *Execution) (text string, args []driver.NamedValue, sees sight, err error) {
	x.corrected = true
	return r.rewritten(ctx, x)
}

// Summed is the text that reads sums outside transactions, and its arguments.
func (x *Execution) Summed(wholeDates bool) (string, []driver.NamedValue) {
	q := x.Plan.Sum()
	if x.tables {
		return x.Own(q.Render(func(plan.ViewUse) slotsql.ReadView { return slotsql.ReadView{} }, true)), x.Args
	}
	if top := q.Top; top != nil {
		if text, args, ok := top.Bind(x.Arguments, wholeDates); ok {
			return text, args
		}
	}
	if short := q.Short; short != nil {
		if text, args, ok := short.With(x.Arguments, 0); ok {
			return text, args
		}
	}
	return x.Own(q.SQL), x.Args
}

// ExplainLooks tells the texts as which a query may be sent before its sums, and when each is the answer.
func (x *Execution) ExplainLooks(tell func(when, text string)) {
	l := x.Plan.Sum().Look
	if l == nil {
		return
	}
	few := "while there are few, this is the answer: the hidden columns tell what to add to which row"
	if l.Rows.First != nil {
		few += ", unless another row comes among the first by that"
	}
	for _, look := range []struct{ text, when string }{
		{l.Text, "while its tables have no slots, as the last hidden columns tell, this is the answer"},
		{l.Rows.Any, "while its rows have none, as the last hidden column tells, this is the answer"},
		{l.Rows.Few, few},
		{l.Rows.Each, "while there are many, this is the answer: the last hidden columns tell what to add to each row"},
	} {
		if look.text != "" {
			tell(look.when, look.text)
		}
	}
}

// overTables gives the answer to a query, which is sent once more if it has failed for a
// row's sake, or for that of a temporary table: over views that are tables the servers
// compute what they compute over the base tables.
func (r *Reader) overTables(ctx context.Context, x *Execution, out answer.Outcome, err error) (answer.Outcome, error) {
	failed := err
	if err == nil && x.Rows {
		rows := answer.Over(out.Rows)
		out.Rows, failed = rows, rows.Peek()
	}
	if !plan.OfRow(failed) && mysqlerr.Number(failed) != mysqlerr.ErrCantReopen {
		return out, err
	}
	_ = out.Close()
	x.tables = true
	text, args, _, err := r.rewritten(ctx, x)
	if err != nil {
		return answer.Outcome{}, err
	}
	out, err = x.SendWith(ctx, text, args)
	return out, mysqlerr.AsKilled(err)
}
