package main

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
)

// client is one of those that work at once, in a goroutine of its own.
type client struct {
	*contestant
	rng  *rand.Rand
	zipf *rand.Zipf
	ids  []int   // scratch
	top  []int64 // what readTop has to find

	orm      *gorm.DB
	prepared *sql.Stmt

	end time.Time // of the round

	deadlocks, refusals int
	latencies           []time.Duration
	acknowledged        int // before the end
}

// errGaveUp ends an operation that was refused when the round was over.
var errGaveUp = errors.New("gave up at the end of the round")

// The server's refusals that undid what was begun and ask to try again.
const (
	errDeadlock        = 1213
	errLockWaitTimeout = 1205
	errRecordChanged   = 1020 // MariaDB, innodb_snapshot_isolation
	errNotWaitedFor    = 3572 // MySQL, NOWAIT
)

// retry tries again whatever the server has undone, as applications do.
func (c *client) retry(try func() error) error {
	for {
		err := try()
		var refusal *mysql.MySQLError
		if !errors.As(err, &refusal) {
			return err
		}
		switch refusal.Number {
		case errDeadlock:
			c.deadlocks++
		case errLockWaitTimeout, errRecordChanged, errNotWaitedFor:
			c.refusals++
		default:
			return err
		}
		if time.Now().After(c.end) {
			return errGaveUp
		}
	}
}

// transaction does it between BeginTx and Commit.
func (c *client) transaction(ctx context.Context, do func(s *sqlStore, tx session) error) error {
	s := c.sql()
	return c.retry(func() error {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := do(s, tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// increment counts in autocommit.
func (c *client) increment(ctx context.Context, id int) error {
	err := c.retry(func() error { return c.store.increment(ctx, id) })
	if err == nil {
		c.count(id)
	}
	return err
}

// count notes increments that were acknowledged.
func (c *client) count(ids ...int) {
	for _, id := range ids {
		c.expected[id].Add(1)
	}
}

// of returns n different ones of the first of counters, in random order.
func (c *client) of(n, of int) []int {
	c.ids = c.ids[:0]
	for i := range of {
		c.ids = append(c.ids, i+1)
	}
	c.rng.Shuffle(of, func(i, j int) { c.ids[i], c.ids[j] = c.ids[j], c.ids[i] })
	return c.ids[:n]
}

// uniform is any counter.
func (c *client) uniform() int { return c.rng.IntN(c.counters()) + 1 }

// popular is any counter too, but the first ones more often.
func (c *client) popular() int { return int(c.zipf.Uint64()) + 1 }

// zipfExponent gives the most popular of 10,000 counters a seventh of all.
const zipfExponent = 1.1

func newClient(c *contestant) *client {
	rng := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	return &client{contestant: c, rng: rng, zipf: rand.NewZipf(rng, zipfExponent, 1, uint64(c.counters()-1))}
}
