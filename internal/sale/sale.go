package sale

import (
	"context"
	"database/sql/driver"
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
	*plan.Guarded
	guard *plan.Guard
	rows  int64 // that it has changed, in the end
}

type saleRequest = groupcommit.Request[*sale]

// Queues are where sales of rows wait for those that are under way.
type Queues struct {
	of traffic.ByTable[stock.Queues[*sale]]
}

// NewQueues are those of some tables.
func NewQueues(specs []catalog.Spec) Queues {
	return Queues{traffic.ForTables[stock.Queues[*sale]](specs)}
}

// Sells reports whether a session's guarded updates may go with those of others: what
// does not fit is an error, and nothing but that.
func Sells(c *increment.Caller) bool {
	return c.Grouped() && c.Settings.Strict && !c.Settings.SafeUpdates && !strings.Contains(c.Settings.SQLMode, "NO_UNSIGNED_SUBTRACTION")
}

// Run runs a guarded update when its row is free: by itself where nobody else waits for it,
// or together with those that do. done is false where neither is so, and it has to go by
// itself beside them; where byItself has run, its caller knows.
func (q Queues) Run(ctx context.Context, c *increment.Caller, g *plan.Guard, b plan.Binder, byItself func()) (affected int64, done bool, err error) {
	row, ok := g.Row(b)
	if !ok {
		return 0, false, nil
	}
	queues := q.of.Of(g.Table)
	of := queues.Enter(row)
	defer queues.Leave(row, of)
	if lead := of.Enter(); lead != 0 {
		defer of.Leave(lead)
		byItself()
		return 0, false, nil
	}
	x, ok := g.Bind(b)
	if !ok {
		return 0, false, nil
	}
	r := increment.OfCaller(c, groupcommit.NewRequest(&sale{Guarded: x, guard: g}, x.Shape))
	r.Affinity = fmt.Sprintf("%s %p %s", r.Affinity, g, x.Shape)
	if !r.Fits() {
		return 0, false, nil
	}
	v := of.Do(ctx, r, func(batch []*saleRequest) groupcommit.Sending {
		if len(batch) == 1 {
			return groupcommit.Sending{Run: byItself, Lost: mysql.ErrInvalidConn}
		}
		return c.Leading(ctx, len(batch), increment.LingerLocked, func(ctx context.Context, c *increment.Caller) {
			if c.ResetSession(ctx) != nil { // dead: nobody else has to suffer from that
				batch[0].Outcome.Alone = true
				for _, w := range batch[1:] {
					w.Outcome.Again = true
				}
				return
			}
			c.Stats.Guard(len(batch))
			(&seller{c}).sell(ctx, &of.Short, batch)
		})
	})
	if v.Err != nil {
		return 0, true, v.Err
	}
	return r.Payload.rows, !v.Alone, nil
}

// seller serves a batch in one session.
type seller struct{ *increment.Caller }

// sell gives every request of one shape its outcome. While the row is short, the most modest
// one is asked for first: if that is refused, so are all.
func (s *seller) sell(ctx context.Context, short *atomic.Bool, batch []*saleRequest) {
	g, left, locked := batch[0].Payload.guard, batch, false
	if short.Load() && !g.MayFail() && !batch[0].Payload.Rounds() {
		n := stock.Modest(wants(batch))
		affected, err := s.trySale(ctx, batch[n].Payload.Alone())
		switch {
		case ends(err):
			s.unsold(ctx, batch, batch, err)
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
		affected, err := s.trySale(ctx, left[len(left)-1].Payload.Together(stock.Enough(wants(left))))
		switch {
		case ends(err):
			s.unsold(ctx, batch, left, err)
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
	committing := false
	err := session.Again(ctx, func() error {
		if err := s.Start(ctx); err != nil {
			return err
		}
		var err error
		answers, err = s.serve(ctx, left)
		committing = err == nil
		return s.Finish(ctx, err)
	})
	switch {
	case committing && ends(err), mysqlerr.Waited(mysqlerr.Number(err)):
		s.unsold(ctx, batch, left, err)
		return
	case err != nil: // nothing was done
		for _, r := range left {
			if r.Outcome.Alone = true; r == batch[0] && !increment.Undone(err) && !errors.Is(err, errUnserved) {
				r.Outcome = groupcommit.Outcome{Err: err}
			}
		}
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

// ends reports whether an error is that of everybody in the batch: it leaves open what was
// done, or all have waited for as long as each would have by itself.
func ends(err error) bool {
	return err != nil && (!increment.Undone(err) || mysqlerr.Waited(mysqlerr.Number(err)))
}

// trySale sends a statement whose failure is no news to anybody, unless it ends the batch.
func (s *seller) trySale(ctx context.Context, text string) (affected int64, err error) {
	affected, err = s.Do(ctx, text)
	if err != nil && !ends(err) {
		s.Stats.Unheard(mysqlerr.Number(err))
	}
	return affected, err
}

// unsold ends requests of a batch whose connection has failed.
func (s *seller) unsold(ctx context.Context, batch, requests []*saleRequest, err error) {
	for _, r := range requests {
		switch leads := r == batch[0]; { // whose connection it is
		case leads:
			r.Outcome.Err = err
		case errors.Is(err, driver.ErrBadConn): // nothing was sent
			r.Outcome.Again = true
		case ctx.Err() != nil: // the leader's
			r.Outcome.Err = mysql.ErrInvalidConn
		default:
			r.Outcome.Err = err
		}
	}
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
	locked, err := s.LockRows(ctx, g.Table, sqltext.Quote(g.Name), g.From(), x.Row())
	if err != nil || len(locked) == 0 {
		return all(stock.Refused), err
	}
	if len(locked) > 1 { // what one has says nothing of the others
		return nil, errUnserved
	}
	if err := s.FoldRows(ctx, g.Table, locked); err != nil {
		return nil, err
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
