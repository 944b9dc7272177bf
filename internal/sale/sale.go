package sale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/groupcommit"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/stock"
	"github.com/countermysql/countermysql/internal/traffic"
)

// sale is what one caller wants of the row.
type sale struct {
	*terms
	rows int64 // that it has changed, in the end
}

// terms are what callers may have in common.
type terms struct {
	*plan.Guarded // nil: it is no part of another statement
	guard         *plan.Guard
	reserved      bool
	text          string      // the statement, then
	row           plan.RowSet // the whole row, and
	where         string      // its key
	kin, affinity string      // of the session, and of who goes together
}

type saleRequest = groupcommit.Request[sale]

// Queues are where sales of rows wait for those that are under way.
type Queues struct {
	of traffic.ByTable[stock.Queues[sale]]
}

// NewQueues are those of some tables.
func NewQueues(specs []catalog.Spec) Queues {
	return Queues{traffic.ForTables[stock.Queues[sale]](specs)}
}

// Sells reports whether a session's guarded updates may go with those of others: what
// does not fit is an error, and nothing but that.
func Sells(c *increment.Caller) bool {
	return c.Grouped() && !c.Settings.SafeUpdates && Computes(c.Settings)
}

// Computes reports whether what does not fit is an error in a session, and nothing but that.
func Computes(s session.Settings) bool {
	return s.Strict && !strings.Contains(s.SQLMode, "NO_UNSIGNED_SUBTRACTION")
}

// Statement is an update, or a DELETE, of one row.
type Statement struct {
	*plan.Exact
	Text      string
	Arguments plan.Arguments
	Waits     bool // for the row; where slots would take it, it comes along while others are there that do
	Reserved  bool // the row may have reserved rows, which who looks at them is to lock before it
}

// Some reports whether statements that wait for a row of the table have come a moment ago:
// nothing is there for others to come along with, without.
func (q Queues) Some(t *catalog.Table) bool { return q.of.Of(t).Some() }

// Supply says whether most rows of the table had enough of late.
func (q Queues) Supply(t *catalog.Table) *stock.Supply { return &q.of.Of(t).Supply }

// Run runs a statement when its row is free: by itself where nobody else waits for it, or
// together with those that do. done is false where neither is so, and it has to go by
// itself beside them; where byItself has run, its caller knows.
func (q Queues) Run(ctx context.Context, c *increment.Caller, s Statement, byItself func()) (affected int64, done bool, err error) {
	queues := q.of.Of(s.Rows[0].Table)
	row, ok := s.Row(s.Arguments.Binder)
	if !ok {
		return 0, false, nil
	}
	enter := queues.Beside
	if s.Waits {
		enter = queues.Enter
	}
	of := enter(row)
	if of == nil {
		return 0, false, nil
	}
	defer queues.Leave(of, s.Waits)
	if lead := of.Enter(); lead != 0 {
		defer of.Leave(lead)
		byItself()
		return 0, false, nil
	}
	r := s.request(c, of)
	if r == nil {
		return 0, false, nil
	}
	v := of.Do(ctx, r, func(batch []*saleRequest) groupcommit.Sending {
		if len(batch) == 1 {
			return groupcommit.Sending{Run: byItself, Lost: mysql.ErrInvalidConn}
		}
		return c.Leading(ctx, len(batch), increment.LingerLocked, func(ctx context.Context, c *increment.Caller) {
			if increment.Dead(ctx, c, batch) {
				return
			}
			if s := (&seller{c}); batch[0].Payload.Guarded != nil {
				c.Stats.Guard(len(batch))
				s.sell(ctx, &of.Short, batch)
			} else {
				s.each(ctx, batch)
			}
		})
	})
	if v.Err != nil {
		return 0, true, v.Err
	}
	return r.Payload.rows, !v.Alone, nil
}

// request is that of a statement; nil where nobody can go with it.
func (s Statement) request(c *increment.Caller, of *stock.Queue[sale]) *saleRequest {
	if !Sells(c) {
		return nil
	}
	if x := s.guarded(c, of); x != nil {
		if r := x.request(c, x.Shape); r.Fits() {
			return r
		}
	}
	text, ok := s.TextElsewhere(s.Text, s.Arguments)
	row := s.Rows[0]
	where, bound := s.Key.Bind(row.Name, s.Arguments.Binder)
	if !s.Waits || !ok || !bound {
		return nil
	}
	x := &terms{text: text, row: row, where: where}
	x.together(c, row.Table, c.Settings.DB+" "+where)
	if r := x.request(c, text); r.Fits() {
		return r
	}
	return nil
}

// guarded are the terms of a guarded update; nil where it is none that goes together. Buyers of one
// item send the same most of the time, so that what was bound last need not be bound again.
func (s Statement) guarded(c *increment.Caller, of *stock.Queue[sale]) *terms {
	if s.Guard == nil {
		return nil
	}
	if last := of.Last.Load(); last != nil && last.kin == c.Initial.Kin && last.reserved == s.Reserved && last.Is(s.Guard, s.Arguments.Binder) {
		return last.terms
	}
	bound, ok := s.Guard.Bind(s.Arguments.Binder)
	if !ok {
		return nil
	}
	x := &terms{Guarded: bound, guard: s.Guard, reserved: s.Reserved}
	x.together(c, s.Guard, bound.Shape)
	of.Last.Store(&sale{terms: x})
	return x
}

// together notes who goes together: sessions alike, with statements of one thing.
func (x *terms) together(c *increment.Caller, thing any, more string) {
	x.kin, x.affinity = c.Initial.Kin, fmt.Sprintf("%s %p %s", c.Initial.Kin, thing, more)
}

func (x *terms) request(c *increment.Caller, text string) *saleRequest {
	r := increment.OfCaller(c, groupcommit.NewRequest(sale{terms: x}, text))
	r.Affinity = x.affinity
	return r
}

// seller serves a batch in one session.
type seller struct{ *increment.Caller }

// sell gives every request of one shape its outcome. While the row is short, the most modest
// one is asked for first: if that is refused, so are all.
func (s *seller) sell(ctx context.Context, short *atomic.Bool, batch []*saleRequest) {
	lead, left := batch[0].Payload, batch
	g, locked := lead.guard, lead.reserved && !lead.guard.TakesFromParts()
	if !lead.reserved && short.Load() && !g.MayFail() && !lead.Rounds() {
		n := stock.Modest(wants(batch))
		affected, err := s.trySale(ctx, g, batch[n].Payload.Alone())
		switch {
		case ends(err):
			increment.Lost(ctx, batch[0], batch, err)
			return
		case err == nil && affected == 0:
			return
		case err == nil:
			batch[n].Payload.rows = affected
			left = slices.Delete(slices.Clone(batch), n, n+1)
		default:
			locked = true // it has slots, perhaps
		}
	}
	if !locked {
		affected, err := s.trySale(ctx, g, left[len(left)-1].Payload.Together(stock.Enough(wants(left))))
		switch {
		case ends(err):
			increment.Lost(ctx, batch[0], left, err)
			return
		case err == nil && affected > 0: // of several rows, if the key is unique no more: each had enough for all
			for _, r := range left {
				r.Payload.rows = affected
			}
			short.Store(false)
			return
		}
	}
	var answers []stock.Answer
	if !s.inOne(ctx, batch, left, func() (err error) {
		answers, err = s.serve(ctx, left)
		return err
	}) {
		return
	}
	for i, r := range left {
		switch {
		case answers[i] == stock.Served:
			r.Payload.rows = 1
		case answers[i] == stock.Failing, g.MayFail():
			r.Outcome.Alone = true
		default:
			short.Store(true)
		}
	}
}

// inOne runs requests of a batch in one transaction; false where none of them was, and each
// knows what that means for him.
func (s *seller) inOne(ctx context.Context, batch, requests []*saleRequest, run func() error) bool {
	committing := false
	err := session.Again(ctx, func() error {
		if err := s.Start(ctx); err != nil {
			return err
		}
		err := run()
		committing = err == nil
		return s.Finish(ctx, err)
	})
	switch {
	case err == nil:
		return true
	case committing && ends(err), mysqlerr.Waited(mysqlerr.Number(err)):
		increment.Lost(ctx, batch[0], requests, err)
		return false
	}
	for _, r := range requests { // nothing was done
		if r.Outcome.Alone = true; r == batch[0] && !increment.Undone(err) && !errors.Is(err, errUnserved) {
			r.Outcome = groupcommit.Outcome{Err: err}
		}
	}
	return false
}

// each runs statements of a row one after the other, in one transaction that has it locked and
// folded. Each has its own answer.
func (s *seller) each(ctx context.Context, batch []*saleRequest) {
	errs := make([]error, len(batch))
	if !s.inOne(ctx, batch, batch, func() error {
		found, err := s.lock(ctx, batch[0].Payload.row, batch[0].Payload.where)
		if err == nil && !found { // one that comes in between may have slots by the end
			err = errUnserved
		}
		for i := 0; i < len(batch) && err == nil; i++ {
			x := &batch[i].Payload
			x.rows, errs[i] = s.Do(ctx, x.text)
			if errs[i] != nil && (ends(errs[i]) || !s.InTransaction()) { // of all of them
				err = errs[i]
			}
		}
		return err
	}) {
		return
	}
	for i, r := range batch {
		if r.Outcome.Err = errs[i]; mysqlerr.Number(errs[i]) == mysqlerr.ErrInterrupted { // which was meant for the leader
			r.Outcome = groupcommit.Outcome{Alone: true}
		}
	}
}

// lock locks a row, and adds its slots to it; false where there is none.
func (s *seller) lock(ctx context.Context, row plan.RowSet, key string) (found bool, err error) {
	locked, err := s.LockRows(ctx, row.Table, sqltext.Quote(row.Name), row.Locking(), key)
	switch {
	case err != nil || len(locked) == 0:
		return false, err
	case len(locked) > 1: // what one has says nothing of the others
		return false, errUnserved
	}
	return true, s.FoldRows(ctx, row.Table, locked)
}

// ends reports whether an error is that of everybody in the batch: it leaves open what was
// done, or all have waited for as long as each would have by itself.
func ends(err error) bool {
	return err != nil && (!increment.Undone(err) || mysqlerr.Waited(mysqlerr.Number(err)))
}

// trySale sends a statement whose failure is no news to anybody, unless it ends the batch.
func (s *seller) trySale(ctx context.Context, g *plan.Guard, text string) (affected int64, err error) {
	if try := func() (int64, error) { return s.Do(ctx, text) }; g.Waits && s.LocksGaps() {
		affected, err = session.OutsideGaps(ctx, s.Session, try)
	} else {
		affected, err = try()
	}
	if err != nil && !ends(err) {
		s.Stats.Unheard(mysqlerr.Number(err))
	}
	return affected, err
}

func wants(requests []*saleRequest) []stock.Want {
	all := make([]stock.Want, len(requests))
	for i, r := range requests {
		all[i] = r.Payload.Want
	}
	return all
}

// errUnserved says that a row is not what it was under its lock a moment ago: perhaps
// another client has changed its table.
var errUnserved = errors.New("countermysql: a row has not changed as it should have")

// serve locks the row, adds its slots to it, and serves one after the other.
func (s *seller) serve(ctx context.Context, requests []*saleRequest) ([]stock.Answer, error) {
	x, g := requests[0].Payload, requests[0].Payload.guard
	all := func(a stock.Answer) []stock.Answer { return slices.Repeat([]stock.Answer{a}, len(requests)) }
	found, err := s.lock(ctx, plan.RowSet{Table: g.Table, Name: g.Name}, x.Row())
	if err != nil || !found {
		return all(stock.Refused), err
	}
	rows, err := s.Read(ctx, s.Settings.Unsnapshot()+x.Look())
	if err != nil || len(rows) == 0 {
		return all(stock.Refused), err
	}
	row := stock.Row{}
	row.Least, row.Most = x.Range()
	for i, text := range rows[0] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !stock.InRange(n) { // NULL, too
			return all(stock.Failing), nil
		}
		if i == 0 {
			row.Value = n
		} else {
			row.Base = g.Base(n)
		}
	}
	if row.Value < row.Least || row.Value > row.Most {
		return all(stock.Failing), nil
	}
	answers, sum := stock.Serve(row, wants(requests))
	for i := len(answers) - 1; i >= 0; i-- { // its times are those that stay
		if answers[i] == stock.Served {
			affected, err := s.Do(ctx, requests[i].Payload.Locked(sum))
			if err == nil && affected != 1 {
				err = errUnserved
			}
			return answers, err
		}
	}
	return answers, nil
}
