package exact

import (
	"context"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/maintain"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sale"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
)

// Statement is how a statement of the application's is sent.
type Statement interface {
	Send(ctx context.Context, text string) (answer.Outcome, error) // what stands in its place, the way the application has sent it
	Own(text string) string                                        // a text of its plan's, with its own literals
}

// Execution is one execution of a statement.
type Execution struct {
	Statement
	*plan.Exact
	Plan      *plan.Plan
	Takes     *traffic.Takes // by plan
	Text      string         // as it was written
	Arguments plan.Arguments
	Asked     bool // for rows
}

// Runner runs statements the exact way, in one session.
type Runner struct {
	*increment.Caller
	sales      sale.Queues
	background *maintain.Background
}

// New returns the Runner of a session.
func New(c *increment.Caller, sales sale.Queues, background *maintain.Background) *Runner {
	return &Runner{c, sales, background}
}

// RunExactly rolls up the keys concerned and runs the statement as it is, in one
// transaction: the open one, or one of its own, which it may share.
func (r *Runner) RunExactly(ctx context.Context, x Execution) (answer.Outcome, error) {
	if out, done, err := r.runQueued(ctx, x, true); done {
		return out, err
	}
	return r.runByItself(ctx, x)
}

// RunBeside runs an increment together with statements of its row that need the value, if there
// are any now: they would fold what it brings to a slot, and have the row locked meanwhile. done
// is false where it goes its usual way.
func (r *Runner) RunBeside(ctx context.Context, x Execution) (out answer.Outcome, done bool, err error) {
	if x.Guard == nil || !r.sales.Some(x.Guard.Table) || !sale.Sells(r.Caller) || r.hasReserve(x) { // it would have the row, and wait for its reserve
		return answer.Outcome{}, false, nil
	}
	out, done, err = r.runQueued(ctx, x, false)
	switch n := mysqlerr.Number(err); {
	case mysqlerr.Beyond[n]: // which a slot is not at the end of
		r.Stats.Unheard(n)
		return answer.Outcome{}, false, nil
	case done && err == nil:
		r.Stats.Increments.Add(1)
	}
	return out, done, err
}

// runQueued runs a statement of one row behind those of it that are under way, and together
// with those that wait as well where it can; done is false where it has to go by itself.
func (r *Runner) runQueued(ctx context.Context, x Execution, waits bool) (_ answer.Outcome, done bool, _ error) {
	if x.Key == nil || !r.standsAlone(x) || !r.Grouped() {
		return answer.Outcome{}, false, nil
	}
	type ending struct {
		out answer.Outcome
		err error
	}
	var alone *ending
	s := sale.Statement{Exact: x.Exact, Text: x.Text, Arguments: x.Arguments, Waits: waits, Reserved: r.hasReserve(x)}
	affected, sold, err := r.sales.Run(ctx, r.Caller, s, func() {
		if x.Guard != nil {
			r.Stats.Guard(1)
		}
		out, err := r.runByItself(ctx, x)
		alone = &ending{out, err}
	})
	switch {
	case alone != nil:
		return alone.out, true, alone.err
	case err != nil || !sold:
		return answer.Outcome{}, sold, err
	}
	return answer.Outcome{Result: answer.Affected(affected)}, true, nil
}

// standsAlone reports whether the statement is a transaction by itself whose answer is a number
// of rows.
func (r *Runner) standsAlone(x Execution) bool {
	return x.Arguments.Count() == x.Plan.Params && !x.Arguments.Sticky && !x.Asked && !r.InTransaction()
}

// runByItself is RunExactly for a statement that shares nothing.
func (r *Runner) runByItself(ctx context.Context, x Execution) (answer.Outcome, error) {
	defer func() { r.HasRow = false }()
	free, locked := r.hasLocked(x)
	if free {
		return r.runFree(ctx, x)
	}
	if out, done, err := r.runOnPart(ctx, x); done || err != nil {
		return out, err
	}
	if !locked { // else it is known to have slots
		if out, done, err := r.runInOneTrip(ctx, x); done || err != nil {
			return out, err
		}
	}
	if !r.InTransaction() {
		return r.runAlone(ctx, x)
	}
	if !locked {
		if out, done, err := r.runOverwriting(ctx, x); done || err != nil {
			if err == nil {
				r.noteFree(x, out.Affected())
			}
			return r.noted(x, out, err)
		}
	}
	out, err := r.takeAndRun(ctx, x)
	return r.noted(x, out, err)
}

// noted notes in the transaction what a statement has done.
func (r *Runner) noted(x Execution, out answer.Outcome, err error) (answer.Outcome, error) {
	r.HasSnapshot = r.HasSnapshot || x.Plan.Fixes && err == nil
	if err == nil {
		r.NoteWrites(x.Plan.Writes, x.Arguments.Binder, out.Affected())
	}
	return out, err
}

// runInOneTrip runs the statement in one round trip; done is false where there is something
// to roll up. Inside a transaction the row is locked first: the guard leaves the slots
// that it finds locked, but not the row, and who increments that meanwhile has it, and
// would wait for them (MariaDB).
func (r *Runner) runInOneTrip(ctx context.Context, x Execution) (out answer.Outcome, done bool, err error) {
	p, inside := x.Plan, r.InTransaction()
	text, ok := r.oneTrip(x)
	if !ok || x.Asked || r.hasReserve(x) || inside && len(r.Transaction().Pending) > 0 {
		return answer.Outcome{}, false, nil
	}
	if inside {
		s := x.Rows[0]
		where, ok := s.Bind(x.Arguments.Binder)
		if !ok {
			return answer.Outcome{}, false, nil
		}
		rows, err := r.LockRows(ctx, s.Table, sqltext.Quote(s.Name), s.Locking(), where)
		switch {
		case mysqlerr.BadValue[mysqlerr.Number(err)], err == nil && len(rows) == 0 && r.Settings.SafeUpdates:
			return answer.Outcome{}, false, nil
		case err != nil:
			return answer.Outcome{}, false, err
		case len(rows) == 0: // none is written then: one that comes to meet the condition now may have slots
			out, err := x.Send(ctx, x.keptTo(s, rows))
			if err == nil {
				r.NoteWrites(p.Writes, x.Arguments.Binder, out.Affected())
			}
			return out, true, err
		}
	}
	out, err = r.sendInOneTrip(ctx, x, text)
	switch {
	case hasSlots(err), x.OneTrip.Several() && mysqlerr.BadValue[mysqlerr.Number(err)], refusedTrip[mysqlerr.Number(err)], mysqlerr.Number(err) == mysqlerr.ErrDeadlock && !inside: // nothing was done
		return answer.Outcome{}, false, nil
	case err == nil:
		r.NoteWrites(p.Writes, x.Arguments.Binder, out.Affected())
	}
	return out, true, err
}

// refusedTrip are the errors of such a text alone, perhaps: over slots, or by its level.
var refusedTrip = map[uint16]bool{mysqlerr.ErrMixedCollations: true, mysqlerr.ErrLogsStatements: true}

// oneTrip is the text of the statement that fails if a row has slots; ok is false where it may not be sent. The gap
// of the slots, in which others insert theirs, may not be locked for as long as a transaction lasts, nor while the
// statement waits: then it runs without, if the level makes no other difference to it. Several rows need the gaps of
// those that are not there, or they come unseen.
func (r *Runner) oneTrip(x Execution) (text string, ok bool) {
	trip, b, gaps := x.OneTrip, x.Arguments.Binder, r.LocksGaps()
	switch {
	case trip == nil, x.Arguments.Sticky, trip.Several() && !gaps, gaps && (trip.Reads || r.InTransaction()):
		return "", false
	case r.leavesGaps(x) && !b.MatchExactly([]plan.KeyValue{*x.Key}):
		return "", false
	}
	text, ok = trip.Text(x.Arguments)
	return text, ok && len(text) < r.Settings.Packet
}

// leavesGaps reports whether it runs at another level. What SET TRANSACTION has said stays.
func (r *Runner) leavesGaps(x Execution) bool {
	return x.OneTrip.Waits && r.LocksGaps() && r.Next == ""
}

// sendLooking sends the text that fails if a row has slots.
func (r *Runner) sendLooking(ctx context.Context, x Execution, text string) (out answer.Outcome, err error) {
	if !r.leavesGaps(x) {
		return r.sendTrip(ctx, x, text)
	}
	_, err = session.OutsideGaps(ctx, r.Session, func() (int64, error) {
		out, err = r.sendTrip(ctx, x, text)
		return out.Affected(), err
	})
	return out, err
}

// sendInOneTrip sends the statement in one round trip. Outside transactions, one that takes from what
// is never below zero goes as it is, and is told by its base row alone if that has enough: then the
// whole has. Where rows of late had not, it is not tried.
func (r *Runner) sendInOneTrip(ctx context.Context, x Execution, text string) (answer.Outcome, error) {
	takes := r.standsAlone(x) && sale.Sells(r.Caller)
	if takes {
		_, _, takes = r.part(x)
	}
	if !takes {
		return r.sendLooking(ctx, x, text)
	}
	supply := r.sales.Supply(x.Guard.Table)
	if supply.Suffices() {
		out, err := r.sendApart(ctx, x, x.Guard.Text, x.Text)
		switch n := mysqlerr.Number(err); {
		case mysqlerr.Beyond[n], n == mysqlerr.ErrDeadlock:
			r.Stats.Unheard(n)
		case err != nil:
			return out, err
		case out.Affected() > 0:
			supply.Note(true)
			return out, nil
		}
	}
	out, err := r.sendLooking(ctx, x, text)
	supply.Note(err == nil && out.Affected() > 0)
	return out, err
}

// sendTrip sends it at whatever level.
func (r *Runner) sendTrip(ctx context.Context, x Execution, text string) (answer.Outcome, error) {
	if x.OneTrip.Several() {
		return x.Send(ctx, text)
	}
	return r.sendApart(ctx, x, x.OneTrip.Apart(), text)
}

// sendApart sends a text of the statement's, with its numbers apart where that means the same: to
// parse it takes the server about as long as to find the row. whole has its literals.
func (r *Runner) sendApart(ctx context.Context, x Execution, text, whole string) (answer.Outcome, error) {
	if x.Guard != nil && r.standsAlone(x) && sale.Sells(r.Caller) && !x.Arguments.Binary {
		if numbers := x.Guard.Numbers(x.Arguments.Binder); numbers != nil {
			switch affected, sent, err := r.DoPrepared(ctx, "", text, numbers); {
			case NamesSlots(err): // which is an answer
				return answer.Outcome{}, err
			case err != nil && mysqlerr.Number(err) != mysqlerr.ErrOutOfRange: // which quotes the text
				return answer.Outcome{}, r.Failed(err)
			case err == nil && sent:
				return answer.Outcome{Result: answer.Affected(affected)}, nil
			}
		}
	}
	return x.Send(ctx, whole)
}

// hasSlots reports whether a guarded statement has failed because its row has slots, or
// may have: the server says what is out of range, but something between may not.
func hasSlots(err error) bool {
	return NamesSlots(err) || mysqlerr.Number(err) == mysqlerr.ErrOutOfRange && !strings.Contains(err.Error(), "`")
}

// NamesSlots reports whether it says so.
func NamesSlots(err error) bool {
	return mysqlerr.Number(err) == mysqlerr.ErrOutOfRange && strings.Contains(err.Error(), catalog.PrivateName)
}

// runAlone is the exact way outside a transaction.
func (r *Runner) runAlone(ctx context.Context, x Execution) (out answer.Outcome, err error) {
	alone := func() (err error) {
		out, err = r.Alone(ctx, func() (answer.Outcome, error) { return r.takeAndRun(ctx, x) })
		return err
	}
	next := r.Next
	err = r.AgainAlone(ctx, x.Plan.Once, alone)
	if next != "" && !r.Settings.ReadOnly && len(x.Plan.Writes) > 0 && mysqlerr.Number(err) == mysqlerr.ErrReadOnly {
		if rerr := session.ReadOnlyAgain(ctx, r.Session, next); rerr != nil {
			return answer.Outcome{}, rerr
		}
	}
	return out, err
}

// Alone runs a statement in a transaction of ours. That of one with rows ends when they
// are closed.
func (r *Runner) Alone(ctx context.Context, run func() (answer.Outcome, error)) (answer.Outcome, error) {
	if err := r.Start(ctx); err != nil {
		return answer.Outcome{}, err
	}
	out, err := run()
	if err == nil {
		err = r.Send(ctx) // what it has incremented
	}
	if err != nil {
		_ = r.Finish(ctx, err)
		return answer.Outcome{}, err
	}
	if out.Rows == nil {
		return out, r.Finish(ctx, nil)
	}
	return answer.Outcome{Rows: answer.Over(out.Rows).Then(func(err error) error { return r.Finish(ctx, err) })}, nil
}

// takeAndRun rolls up the keys that a statement concerns and runs it. If it discards counters, the
// values that stand-ins were given for must be gone behind it, or else all is as it was before, and
// it fails.
func (r *Runner) takeAndRun(ctx context.Context, x Execution) (out answer.Outcome, err error) {
	if x.Discards == nil {
		return r.takeThenRun(ctx, x)
	}
	d := &plan.Discarding{Counters: x.Discards}
	r.Discarding(d, func() { out, err = r.takeThenRun(ctx, x) })
	if out.Rows != nil && err == nil && d.Stands != nil {
		out.Rows = answer.Over(out.Rows).Then(func(err error) error { return r.Discarded(ctx, d, err) })
		return out, nil
	}
	if err = r.Discarded(ctx, d, err); err != nil {
		return answer.Outcome{}, err
	}
	return out, nil
}

// takeThenRun is takeAndRun without that. Of the rows that an upsert or REPLACE could meet
// it locks those that are there: under REPEATABLE READ, to lock one that is not would lock the gap in
// which others insert theirs.
func (r *Runner) takeThenRun(ctx context.Context, x Execution) (answer.Outcome, error) {
	where, ok := r.collisions(x)
	if !ok {
		text, taken, err := r.takeFor(ctx, x)
		if err != nil {
			return answer.Outcome{}, err
		}
		var out answer.Outcome
		err = fold.Between(ctx, r.Folder, taken, func() (err error) {
			out, err = x.Send(ctx, text)
			return err
		})
		return out, err
	}
	s := x.Rows[0]
	met, err := r.KeysOf(ctx, s, where)
	if err != nil {
		return answer.Outcome{}, err
	}
	if _, err := r.FoldKeys(ctx, s.Table, met); err != nil {
		return answer.Outcome{}, err
	}
	out, err := x.Send(ctx, x.Text)
	if err != nil || s.Table.AllUnique == 1 && len(met) >= len(s.Keys) {
		return out, err // all have been locked
	}
	return out, r.MetNoOther(ctx, s, where, met)
}

// collisions is the condition of the rows that the statement could meet, if a look-up
// connection can tell them.
func (r *Runner) collisions(x Execution) (where string, ok bool) {
	if len(x.Rows) != 1 || !x.Rows[0].Collides || x.Asked || r.Altered() {
		return "", false
	}
	s := x.Rows[0]
	if r.InTransaction() && (r.Transaction().Inside || r.Transaction().WrittenTo(s.Table).Unbounded) || slices.ContainsFunc(s.Keys, plan.KeyValue.Momentary) {
		return "", false
	}
	return s.Bind(x.Arguments.Binder)
}
