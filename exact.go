package countermysql

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// startTransaction begins a transaction whatever the sql_mode: under ORACLE,
// MariaDB's BEGIN opens a block.
const startTransaction = "START TRANSACTION"

// Ends of transactions of ours: after them the application is where it was, whatever
// its completion_type.
const (
	commit   = "COMMIT AND NO CHAIN NO RELEASE"
	rollback = "ROLLBACK AND NO CHAIN NO RELEASE"
)

// runExact rolls up the keys concerned and runs the statement as it is, in one
// transaction: the open one, or one of its own, which it may share.
func (c *conn) runExact(ctx context.Context, k *call) (outcome, error) {
	if out, done, err := c.runQueued(ctx, k); done {
		return out, err
	}
	return c.runByItself(ctx, k)
}

// runByItself is runExact for a statement that shares nothing.
func (c *conn) runByItself(ctx context.Context, k *call) (outcome, error) {
	p := k.Plan
	if out, done, err := c.runGuarded(ctx, k); done || err != nil {
		return out, err
	}
	if !c.inTransaction() {
		return c.runAlone(ctx, k)
	}
	c.transaction().rolledUp = nil
	out, done, err := c.runOverwriting(ctx, k)
	if !done && err == nil {
		out, err = c.takeAndRun(ctx, k)
	}
	c.fixed = c.fixed || p.Fixes && err == nil
	if err == nil {
		c.noteWrites(p.Writes, k.binder(), out.affected())
	}
	if c.tx != nil { // it goes on, perhaps after an error
		c.tx.noteVain(err != nil || out.affected() == 0 || p.Writes == nil)
	}
	return out, err
}

// runGuarded runs the statement in one round trip; done is false where there is something
// to roll up. Inside a transaction the row is locked first: the guard leaves the slots
// that it finds locked, but not the row, and who increments that meanwhile has it, and
// would wait for them (MariaDB).
func (c *conn) runGuarded(ctx context.Context, k *call) (out outcome, done bool, err error) {
	p, inside := k.Plan, c.inTransaction()
	if p.Guarded == "" || k.rows || inside && (len(c.transaction().pending) > 0 || c.locksGaps()) {
		return outcome{}, false, nil
	}
	if inside {
		s := p.Scopes[0]
		where, ok := s.Bind(k.binder())
		if !ok {
			return outcome{}, false, nil
		}
		rows, err := c.lock(ctx, s.Table, sqltext.Quote(s.Name), s.From(), where)
		switch {
		case mysqlerr.BadValue[mysqlerr.Number(err)], err == nil && len(rows) == 0 && c.session.safe:
			return outcome{}, false, nil
		case err != nil:
			return outcome{}, false, err
		case len(rows) == 0: // none is written then: one that comes to meet the condition now may have slots
			out, err := k.forward(ctx, k.keptTo(s, rows))
			if err == nil {
				c.noteWrites(p.Writes, k.binder(), out.affected())
			}
			return out, true, err
		}
	}
	out, err = k.forward(ctx, k.own(p.Guarded))
	switch {
	case hasSlots(err), mysqlerr.Number(err) == mysqlerr.ErrMixedCollations, mysqlerr.Number(err) == mysqlerr.ErrDeadlock && !inside: // over slots, perhaps; nothing was done
		return outcome{}, false, nil
	case err == nil:
		c.noteWrites(p.Writes, k.binder(), out.affected())
	}
	return out, true, err
}

// hasSlots reports whether a guarded statement has failed because its row has slots, or
// may have: the server says what is out of range, but something between may not.
func hasSlots(err error) bool {
	return namesSlots(err) || mysqlerr.Number(err) == mysqlerr.ErrOutOfRange && !strings.Contains(err.Error(), "`")
}

// namesSlots reports whether it says so.
func namesSlots(err error) bool {
	return mysqlerr.Number(err) == mysqlerr.ErrOutOfRange && strings.Contains(err.Error(), catalog.PrivateName)
}

// locksGaps reports whether no other row can come to meet a condition whose rows the
// transaction has locked.
func (c *conn) locksGaps() bool {
	level := c.level()
	return level == sqltext.RepeatableRead || level == sqltext.Serializable
}

// runAlone is the exact way outside a transaction.
func (c *conn) runAlone(ctx context.Context, k *call) (out outcome, err error) {
	err = again(ctx, func() (err error) {
		out, err = c.alone(ctx, func() (outcome, error) { return c.takeAndRun(ctx, k) })
		return err
	})
	return out, err
}

// again runs a transaction of ours, once more after a deadlock, which undid it: rows
// that are not there yet are locked before they are inserted, and others behind those
// that were listed first, so that two side by side deadlock that never would by
// themselves.
func again(ctx context.Context, run func() error) error {
	for try := 0; ; try++ {
		err := run()
		if mysqlerr.Number(err) != mysqlerr.ErrDeadlock || try == maxRetries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(time.Millisecond << try)): // or the same meet again
		}
	}
}

// againAlone is again for what is a transaction by itself, if none is open: beside shared
// locks of increments it may deadlock where it would wait on plain MySQL.
func (c *conn) againAlone(ctx context.Context, run func() error) error {
	if c.inTransaction() || !c.usable() { // given up: run tells why
		return run()
	}
	return again(ctx, run)
}

// alone runs a statement in a transaction of ours. That of one with rows ends when they
// are closed.
func (c *conn) alone(ctx context.Context, run func() (outcome, error)) (outcome, error) {
	if err := c.start(ctx); err != nil {
		return outcome{}, err
	}
	out, err := run()
	if err == nil {
		err = c.send(ctx) // what it has incremented
	}
	if err != nil {
		_ = c.finish(ctx, err)
		return outcome{}, err
	}
	if out.rows == nil {
		return out, c.finish(ctx, nil)
	}
	return outcome{rows: answer.Over(out.rows).Then(func(err error) error { return c.finish(ctx, err) })}, nil
}

// takeAndRun rolls up the keys that a statement concerns and runs it. Of the rows that
// an upsert or REPLACE could meet it locks those that are there: under REPEATABLE READ,
// to lock one that is not would lock the gap in which others insert theirs.
func (c *conn) takeAndRun(ctx context.Context, k *call) (outcome, error) {
	if k.Plan.Discards == nil {
		return c.takeThenRun(ctx, k)
	}
	return c.discard(ctx, k, func() (outcome, error) { return c.takeThenRun(ctx, k) })
}

func (c *conn) takeThenRun(ctx context.Context, k *call) (outcome, error) {
	where, ok := c.collisions(k)
	if !ok {
		text, err := c.takeFor(ctx, k)
		if err != nil {
			return outcome{}, err
		}
		return k.forward(ctx, text)
	}
	s := k.Plan.Scopes[0]
	met, err := c.keysOf(ctx, s, where)
	if err != nil {
		return outcome{}, err
	}
	if _, err := c.takeKeys(ctx, s.Table, met); err != nil {
		return outcome{}, err
	}
	out, err := k.forward(ctx, k.text)
	if err != nil || s.Table.AllUnique == 1 {
		return out, err // a row that was inserted meanwhile by its primary key has nothing in its slots
	}
	return out, c.metNoOther(ctx, s, where, met)
}

// start begins a transaction of ours. What was read before it fixes no snapshot.
func (c *conn) start(ctx context.Context) error {
	_, err := c.do(ctx, startTransaction)
	c.fixed = false
	return err
}

// finish ends a transaction of ours: it commits, or rolls back after an error, of
// which the first is the one to report.
func (c *conn) finish(ctx context.Context, err error) error {
	c.ended()
	if err == nil {
		_, err = c.do(ctx, commit)
	}
	if err != nil {
		_ = c.rollBack() // the first error is the one to report
	}
	return err
}
