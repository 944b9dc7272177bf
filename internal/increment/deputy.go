package increment

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/groupcommit"
)

// LingerLocked is session.Linger for a batch that waits for a lock, as everybody in it would
// by himself.
const LingerLocked = 10 * time.Minute

// outlive is a context for what others wait for as well: a cancelled one closes
// the connection, which would leave all of them in the dark.
func outlive(leader context.Context, linger time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(leader))
	stop := context.AfterFunc(leader, func() {
		select {
		case <-ctx.Done():
		case <-time.After(linger):
			cancel()
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

// Leading is the sending of so many requests on the connection of the first one's caller, who leads.
// When its context ends, it does not wait for what it sends for others as well: it has
// lost the connection then, as it would have by itself, and a deputy goes on with that and
// closes it in the end.
func (c *Caller) Leading(ctx context.Context, requests int, linger time.Duration, run func(ctx context.Context, c *Caller)) groupcommit.Sending {
	if requests == 1 || ctx.Done() == nil {
		return groupcommit.Sending{Run: func() { run(ctx, c) }, Lost: mysql.ErrInvalidConn}
	}
	d, settled := &Caller{Folder: fold.New(c.Deputy()), shared: c.shared}, new(atomic.Bool)
	return groupcommit.Sending{
		Run: func() {
			shared, cancel := outlive(ctx, linger)
			defer cancel()
			defer func() {
				if settled.CompareAndSwap(false, true) {
					return
				}
				_ = d.Close()
				if v := recover(); v != nil { // nobody is left whom it could reach
					c.shared.Log.Error("countermysql: panic", "value", v)
					panic(v)
				}
			}()
			run(shared, d)
		},
		Leave: func() bool {
			if !settled.CompareAndSwap(false, true) {
				return false
			}
			c.LeaveToDeputy()
			return true
		},
		Lost: mysql.ErrInvalidConn,
	}
}

// Dead reports whether the connection of who leads a batch is dead, before anything is sent: he goes
// by himself then, and nobody else has to suffer from that.
func Dead[P any](ctx context.Context, c *Caller, batch []*groupcommit.Request[P]) bool {
	if c.ResetSession(ctx) == nil {
		return false
	}
	batch[0].Outcome.Alone = true
	for _, r := range batch[1:] {
		r.Outcome.Again = true
	}
	return true
}

// Lost gives requests their outcome whose leader's connection has failed, or who end as he does.
func Lost[P any](ctx context.Context, leader *groupcommit.Request[P], requests []*groupcommit.Request[P], err error) {
	for _, r := range requests {
		switch {
		case r == leader:
			r.Outcome.Err = err
		case errors.Is(err, driver.ErrBadConn): // nothing was sent
			r.Outcome.Again = true
		case ctx.Err() != nil: // it is the leader's context that has ended
			r.Outcome.Err = mysql.ErrInvalidConn
		default:
			r.Outcome.Err = err
		}
	}
}
