package countermysql

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

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/groupcommit"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/stock"
)

// Guarded updates of one row outside transactions, which would wait for each other's lock
// and COMMIT, go together: while one is under way the others gather, and go as one statement
// that changes the row if there is enough for all. If there is not, they are served one
// after the other, in one transaction that has the row locked. As all of them wait at the
// same time, that is an order in which the server could have run them; who is refused is so
// because nothing was left for him at a moment of his call.

// sale is what one caller wants of the row.
type sale struct {
	*plan.Guarded
	guard *plan.Guard
	rows  int64 // that it has changed, in the end
}

type saleRequest = groupcommit.Request[*sale]

// sells reports whether the connection's guarded updates may go with those of others: what
// does not fit is an error, and nothing but that.
func (c *conn) sells() bool {
	return c.grouped() && c.Settings.Strict && !c.Settings.SafeUpdates && !strings.Contains(c.Settings.SQLMode, "NO_UNSIGNED_SUBTRACTION")
}

// runQueued runs a guarded update when its row is free, together with those that wait for
// it as well; done is false where it has to go by itself.
func (c *conn) runQueued(ctx context.Context, k *call) (out outcome, done bool, err error) {
	g := k.Plan.Guard
	if g == nil || k.rows || c.InTransaction() || !c.sells() {
		return outcome{}, false, nil
	}
	b := k.binder()
	row, ok := g.Row(b)
	if !ok {
		return outcome{}, false, nil
	}
	queues := &c.connector.traffic.Of(g.Table).queues
	q := queues.Enter(row)
	defer queues.Leave(row, q)
	byItself := func() {
		done = true
		c.connector.stats.Guard(1)
		out, err = c.runByItself(ctx, k)
	}
	if !q.Gathers() {
		if lead := q.Enter(); lead != 0 {
			defer q.Leave(lead)
			byItself()
			return out, done, err
		}
	}
	x, ok := g.Bind(b)
	if !ok {
		return outcome{}, false, nil
	}
	r := ofConn(c, groupcommit.NewRequest(&sale{Guarded: x, guard: g}, x.Shape))
	r.Affinity = fmt.Sprintf("%s %p %s", r.Affinity, g, x.Shape)
	if !r.Fits() {
		return outcome{}, false, nil
	}
	v := q.Do(ctx, r, func(batch []*saleRequest) groupcommit.Sending {
		if len(batch) == 1 {
			return groupcommit.Sending{Run: byItself, Lost: mysql.ErrInvalidConn}
		}
		return c.leading(ctx, len(batch), lingerLocked, func(ctx context.Context, c *conn) {
			if c.ResetSession(ctx) != nil { // dead: nobody else has to suffer from that
				batch[0].Outcome.Alone = true
				for _, w := range batch[1:] {
					w.Outcome.Again = true
				}
				return
			}
			c.connector.stats.Guard(len(batch))
			c.sell(ctx, &q.Short, batch)
		})
	})
	switch {
	case done:
		return out, true, err
	case v.Err != nil:
		return outcome{}, true, v.Err
	}
	return outcome{res: answer.Affected(r.Payload.rows)}, !v.Alone, nil
}

// sell gives every request of one shape its outcome. While the row is short, the most modest
// one is asked for first: if that is refused, so are all.
func (c *conn) sell(ctx context.Context, short *atomic.Bool, batch []*saleRequest) {
	g, left, locked := batch[0].Payload.guard, batch, false
	if short.Load() && !g.MayFail() {
		n := stock.Modest(wants(batch))
		affected, err := c.trySale(ctx, batch[n].Payload.Alone())
		switch {
		case err != nil && !undone(err):
			c.unsold(ctx, batch, batch, err)
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
		affected, err := c.trySale(ctx, left[len(left)-1].Payload.Together(stock.Enough(wants(left))))
		switch {
		case err != nil && !undone(err):
			c.unsold(ctx, batch, left, err)
			return
		case err == nil && affected == 1:
			for _, r := range left {
				r.Payload.rows = 1
			}
			short.Store(false)
			return
		}
	}
	var answers []stock.Answer
	committing := false
	err := session.Again(ctx, func() error {
		if err := c.Start(ctx); err != nil {
			return err
		}
		var err error
		answers, err = c.serve(ctx, left)
		committing = err == nil
		return c.Finish(ctx, err)
	})
	switch {
	case err != nil && committing && !undone(err):
		c.unsold(ctx, batch, left, err)
		return
	case err != nil: // nothing was done
		for _, r := range left {
			if r.Outcome.Alone = true; r == batch[0] && !undone(err) && !errors.Is(err, errUnserved) {
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

// trySale sends a statement whose failure, unless it leaves open what was done, is no news
// to anybody.
func (c *conn) trySale(ctx context.Context, text string) (affected int64, err error) {
	affected, err = c.Do(ctx, text)
	if err != nil && undone(err) {
		c.connector.stats.Unheard(mysqlerr.Number(err))
	}
	return affected, err
}

// unsold ends requests of a batch whose connection has failed.
func (c *conn) unsold(ctx context.Context, batch, requests []*saleRequest, err error) {
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
func (c *conn) serve(ctx context.Context, requests []*saleRequest) ([]stock.Answer, error) {
	x, g := requests[0].Payload, requests[0].Payload.guard
	all := func(a stock.Answer) []stock.Answer { return slices.Repeat([]stock.Answer{a}, len(requests)) }
	locked, err := c.LockRows(ctx, g.Table, sqltext.Quote(g.Name), g.From(), x.Row())
	if err != nil || len(locked) == 0 {
		return all(stock.Refused), err
	}
	if err := c.FoldRows(ctx, g.Table, locked); err != nil {
		return nil, err
	}
	rows, err := c.Read(ctx, c.Unsnapshot()+x.Look())
	if err != nil || len(rows) == 0 {
		return all(stock.Refused), err
	}
	row := stock.Row{}
	row.Least, row.Most = g.Range()
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
	answers, sum := stock.Serve(row, wants(requests))
	for i := len(answers) - 1; i >= 0; i-- { // its times are those that stay
		if answers[i] == stock.Served {
			affected, err := c.Do(ctx, requests[i].Payload.Locked(sum))
			if err == nil && affected != 1 {
				err = errUnserved
			}
			return answers, err
		}
	}
	return answers, nil
}
