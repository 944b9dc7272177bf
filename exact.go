package countermysql

import (
	"context"
	"slices"
	"strings"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sale"
	"github.com/countermysql/countermysql/internal/session"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// runExact rolls up the keys concerned and runs the statement as it is, in one
// transaction: the open one, or one of its own, which it may share.
func (c *conn) runExact(ctx context.Context, k *call) (outcome, error) {
	if out, done, err := c.runQueued(ctx, k); done {
		return out, err
	}
	return c.runByItself(ctx, k)
}

// runQueued runs a guarded update together with those of its row that wait as well; done is
// false where it has to go by itself.
func (c *conn) runQueued(ctx context.Context, k *call) (out outcome, done bool, err error) {
	g := k.Plan.Guard
	if g == nil || k.rows || c.InTransaction() || !sale.Sells(c.Caller) {
		return outcome{}, false, nil
	}
	alone := false
	affected, sold, serr := c.connector.sales.Run(ctx, c.Caller, g, k.binder(), func() {
		alone = true
		out, err = c.runByItself(ctx, k)
	})
	switch {
	case alone:
		return out, true, err
	case serr != nil || !sold:
		return outcome{}, sold, serr
	}
	return outcome{res: answer.Affected(affected)}, true, nil
}

// runByItself is runExact for a statement that shares nothing.
func (c *conn) runByItself(ctx context.Context, k *call) (outcome, error) {
	p := k.Plan
	if out, done, err := c.runGuarded(ctx, k); done || err != nil {
		return out, err
	}
	if !c.InTransaction() {
		return c.runAlone(ctx, k)
	}
	out, done, err := c.runOverwriting(ctx, k)
	if !done && err == nil {
		out, err = c.takeAndRun(ctx, k)
	}
	c.HasSnapshot = c.HasSnapshot || p.Fixes && err == nil
	if err == nil {
		c.NoteWrites(p.Writes, k.binder(), out.affected())
	}
	return out, err
}

// runGuarded runs the statement in one round trip; done is false where there is something
// to roll up. Inside a transaction the row is locked first: the guard leaves the slots
// that it finds locked, but not the row, and who increments that meanwhile has it, and
// would wait for them (MariaDB).
func (c *conn) runGuarded(ctx context.Context, k *call) (out outcome, done bool, err error) {
	p, inside := k.Plan, c.InTransaction()
	if p.Guarded == "" || k.rows || inside && (len(c.Transaction().Pending) > 0 || c.LocksGaps()) {
		return outcome{}, false, nil
	}
	if inside {
		s := p.Scopes[0]
		where, ok := s.Bind(k.binder())
		if !ok {
			return outcome{}, false, nil
		}
		rows, err := c.LockRows(ctx, s.Table, sqltext.Quote(s.Name), s.From(), where)
		switch {
		case mysqlerr.BadValue[mysqlerr.Number(err)], err == nil && len(rows) == 0 && c.Settings.SafeUpdates:
			return outcome{}, false, nil
		case err != nil:
			return outcome{}, false, err
		case len(rows) == 0: // none is written then: one that comes to meet the condition now may have slots
			out, err := k.forward(ctx, k.keptTo(s, rows))
			if err == nil {
				c.NoteWrites(p.Writes, k.binder(), out.affected())
			}
			return out, true, err
		}
	}
	out, err = k.forward(ctx, k.own(p.Guarded))
	switch {
	case hasSlots(err), mysqlerr.Number(err) == mysqlerr.ErrMixedCollations, mysqlerr.Number(err) == mysqlerr.ErrDeadlock && !inside: // over slots, perhaps; nothing was done
		return outcome{}, false, nil
	case err == nil:
		c.NoteWrites(p.Writes, k.binder(), out.affected())
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

// runAlone is the exact way outside a transaction.
func (c *conn) runAlone(ctx context.Context, k *call) (out outcome, err error) {
	err = session.Again(ctx, func() (err error) {
		out, err = c.alone(ctx, func() (outcome, error) { return c.takeAndRun(ctx, k) })
		return err
	})
	return out, err
}

// alone runs a statement in a transaction of ours. That of one with rows ends when they
// are closed.
func (c *conn) alone(ctx context.Context, run func() (outcome, error)) (outcome, error) {
	if err := c.Start(ctx); err != nil {
		return outcome{}, err
	}
	out, err := run()
	if err == nil {
		err = c.Send(ctx) // what it has incremented
	}
	if err != nil {
		_ = c.Finish(ctx, err)
		return outcome{}, err
	}
	if out.rows == nil {
		return out, c.Finish(ctx, nil)
	}
	return outcome{rows: answer.Over(out.rows).Then(func(err error) error { return c.Finish(ctx, err) })}, nil
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
	where, ok := c.Collisions(k)
	if !ok {
		text, err := c.takeFor(ctx, k)
		if err != nil {
			return outcome{}, err
		}
		return k.forward(ctx, text)
	}
	s := k.Plan.Scopes[0]
	met, err := c.KeysOf(ctx, s, where)
	if err != nil {
		return outcome{}, err
	}
	if _, err := c.FoldKeys(ctx, s.Table, met); err != nil {
		return outcome{}, err
	}
	out, err := k.forward(ctx, k.text)
	if err != nil || s.Table.AllUnique == 1 {
		return out, err // a row that was inserted meanwhile by its primary key has nothing in its slots
	}
	return out, c.MetNoOther(ctx, s, where, met)
}

// discard runs f, which folds for a statement and runs it. The values that stand-ins were
// given for must be gone behind it, or else all is as it was before, and it fails.
func (c *conn) discard(ctx context.Context, k *call, f func() (outcome, error)) (outcome, error) {
	d := &plan.Discarding{Counters: k.Plan.Discards}
	out, err := outcome{}, error(nil)
	c.Discarding(d, func() { out, err = f() })
	if out.rows != nil && err == nil && d.Stands != nil {
		out.rows = answer.Over(out.rows).Then(func(err error) error { return c.Discarded(ctx, d, err) })
		return out, nil
	}
	if err = c.Discarded(ctx, d, err); err != nil {
		return outcome{}, err
	}
	return out, nil
}

// Collisions is the condition of the rows that the statement could meet, if a look-up
// connection can tell them.
func (c *conn) Collisions(k *call) (where string, ok bool) {
	if len(k.Plan.Scopes) != 1 || !k.Plan.Scopes[0].Collides || k.rows || c.Altered() {
		return "", false
	}
	s := k.Plan.Scopes[0]
	if c.InTransaction() && (c.Transaction().Inside || c.Transaction().WrittenTo(s.Table).Unbounded) || slices.ContainsFunc(s.Pins, plan.KeyValue.Momentary) {
		return "", false
	}
	return s.Bind(k.binder())
}
