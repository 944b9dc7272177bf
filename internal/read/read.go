package read

import (
	"context"
	"database/sql/driver"

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

	tables bool // views have to be tables
}

// State is what the executions of one plan have in common.
type State struct {
	tableLook, anyLook, fewLook, eachLook traffic.Look
	types                                 answer.KeptTypes // of the query as it was written
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
	text, args, plain, err := r.rewritten(ctx, x)
	if err != nil {
		return answer.Outcome{}, err
	}
	if plain {
		for kind := r.looks(ctx, x); kind != noLook; kind = x.looksAgain(kind) {
			out, answered, err := r.lookFirst(ctx, x, kind)
			r.HasSnapshot = r.HasSnapshot || p.Fixes && err == nil
			if answered {
				return out, err
			}
		}
	}
	types := r.temporaryTypes(ctx, x)
	var out answer.Outcome
	err = r.AgainAlone(ctx, func() (err error) {
		if plain {
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
	case mysqlerr.NotResolved[n]:
		if r.Outdated(ctx, p, err) {
			return answer.Outcome{}, fold.ErrOtherSlots
		}
		// perhaps it is the view that the server does not like here: then the base table has to do
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

// rewritten is the text to send for a query, with views where it reads counters, and its
// arguments. plain says that it reads them as any other session does.
func (r *Reader) rewritten(ctx context.Context, x *Execution) (text string, args []driver.NamedValue, plain bool, err error) {
	q := x.Plan.Sum()
	if !q.Locking && !r.Shares(q) && r.Open() == nil {
		text, args = x.Summed(r.Settings.WholeDates)
		return text, args, true, nil
	}
	type use struct {
		t *catalog.Table
		l sqltext.Locking
	}
	views := map[use]slotsql.ReadView{}
	plain = true
	for _, t := range q.Tables {
		for _, l := range q.Lockings(t) {
			s, err := r.View(ctx, t, l, q, x.Arguments.Binder)
			if err != nil {
				return "", nil, false, err
			}
			plain = plain && s.Locks == "" && s.Own == nil && s.Pending == nil
			views[use{t, l}] = s
		}
	}
	if plain {
		text, args = x.Summed(r.Settings.WholeDates)
		return text, args, true, nil
	}
	return x.Own(q.Render(func(v plan.ViewUse) slotsql.ReadView { return views[use{v.Table, v.Locks}] }, x.tables)), x.Args, false, nil
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
