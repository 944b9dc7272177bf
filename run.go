package countermysql

import (
	"cmp"
	"context"
	"errors"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/ddl"
	"github.com/countermysql/countermysql/internal/fold"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// run executes a statement that is more than simple. Where it meets a slots table
// that another process has given a counter, it has done nothing yet, and is planned anew.
func (c *conn) run(ctx context.Context, k *call) (answer.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return answer.Outcome{}, err
	}
	defer c.CloseOnPanic()
	run := c.runKnown
	if k.Encounter != nil {
		run = c.runEncounter
	}
	if !k.Plan.LeavesPromises() {
		if err := c.KeepPromises(ctx); err != nil {
			return answer.Outcome{}, err
		}
	}
	return run(ctx, k)
}

// runKnown is run with what is known of the schema, and with what is learnt if that is
// not enough.
func (c *conn) runKnown(ctx context.Context, k *call) (answer.Outcome, error) {
	out, err := c.runOnce(ctx, k)
	if mysqlerr.OtherText[mysqlerr.Number(err)] {
		for _, t := range k.Plan.Tables() {
			if kerr := c.StillKnown(ctx, t, false, nil); kerr != nil {
				err = kerr
			}
		}
	}
	if errors.Is(err, fold.ErrOtherKey) && c.InTransaction() { // the slots table is to be altered, which would wait for it
		return answer.Outcome{}, c.AsDeadlock("the key of a table with counters has got another type meanwhile")
	}
	_, split := k.Plan.Work.(*plan.Split)
	if !errors.Is(err, fold.ErrOtherSlots) && (k.Plan.Effect != nil || split || !c.Outdated(ctx, k.Plan, err)) {
		return out, c.Cut(ctx, err)
	}
	if err := k.planAgain(ctx); err != nil {
		return answer.Outcome{}, err
	}
	if k.Encounter != nil { // its table is gone, and may be back when it is sent
		return c.runEncounter(ctx, k)
	}
	if out, err = c.runOnce(ctx, k); errors.Is(err, fold.ErrOtherSlots) {
		err = errors.New(err.Error()) // not once more: it may be one of several statements
	}
	return out, c.Cut(ctx, err)
}

func (c *conn) runOnce(ctx context.Context, k *call) (answer.Outcome, error) {
	p := k.Plan
	c.Locking = p.Locking
	defer func() { c.Locking = false }()
	if p.Increment() == nil {
		if err := c.SendBegin(ctx); err != nil {
			return answer.Outcome{}, err
		}
	}
	switch w := p.Work.(type) {
	case *plan.Split:
		if c.connector.cfg.MultiStatements && k.stmt == nil && k.interpolated() {
			return c.runSplit(ctx, k, w.Texts)
		}
	case *plan.Refused:
		return answer.Outcome{}, catalog.Unready(w.For)
	}
	if c.Locks {
		if err := c.ddl.UnderLocks(ctx, p); err != nil {
			return answer.Outcome{}, err
		}
	}
	if p.Effect != nil {
		return c.runEffect(ctx, k)
	}
	out, err := c.runData(ctx, k)
	if p.Overrides != nil && err == nil && out.Affected() > 0 {
		c.connector.background.NoteOverrides(p.Overrides, k.text)
	}
	return out, err
}

// runEffect executes a statement that changes the session or its transaction.
func (c *conn) runEffect(ctx context.Context, k *call) (answer.Outcome, error) {
	switch e := k.Plan.Effect.(type) {
	case sqltext.Begin, sqltext.Commit, sqltext.DDL, sqltext.Implicit, sqltext.Lock:
		return c.runCommit(ctx, k)
	case sqltext.Rollback:
		out, err := k.Send(ctx, k.text)
		if err == nil || !c.InTransaction() { // XA ROLLBACK of another transaction fails
			c.EndedByUser()
		}
		return out, err
	case sqltext.Savepoint:
		return c.runSavepoint(ctx, k, e)
	case sqltext.Temporary:
		return k.define(ctx, c.ddl.RunTemporary)
	case sqltext.SetAutocommit:
		return c.runAutocommit(ctx, k, e)
	case sqltext.SetTransaction:
		return c.runSetTransaction(ctx, k, e)
	case sqltext.Set:
		return c.runSet(ctx, k)
	case sqltext.Unlock:
		out, err := k.Send(ctx, k.text)
		if err == nil {
			c.Locks = false
		}
		return out, err
	case sqltext.Call, sqltext.Execute:
		return c.runAnything(ctx, k)
	}
	return c.runData(ctx, k)
}

// runCommit executes a statement that commits what is open.
func (c *conn) runCommit(ctx context.Context, k *call) (answer.Outcome, error) {
	commit, commits := k.Plan.Effect.(sqltext.Commit)
	begin, begins := k.Plan.Effect.(sqltext.Begin)
	send := c.SendOrRollBack
	if commit.XA { // a prepared transaction may lose the shared locks that keep others from its slots
		send = c.ApplyAll
	}
	if err := send(ctx); err != nil {
		if commit.XA && !c.Begun() { // a deadlock has ended it, but MySQL wants XA END before XA ROLLBACK and all else
			_, _ = k.Send(context.WithoutCancel(ctx), k.text) // which says no more than that
		}
		return answer.Outcome{}, err
	}
	next := c.Begins()
	out, err := k.define(ctx, c.ddl.Run)
	switch {
	case commit.XA && err == nil:
		c.Ended()
		c.XAEnded = true
	case commits && err == nil:
		c.EndedByUser()
	case begins && err == nil:
		c.Ended()
		c.Next, c.HasSnapshot = next, begin.Snapshot
	case err == nil && !c.Begun(), !c.InTransaction(): // DROP PREPARE and the like commit nothing
		c.Ended()
	}
	return out, err
}

// define executes what changes tables, in a way of internal/ddl.
func (k *call) define(ctx context.Context, run func(context.Context, ddl.Statement) error) (out answer.Outcome, err error) {
	err = run(ctx, ddl.Statement{
		Plan: k.Plan,
		Text: k.text,
		Send: func() (err error) {
			out, err = k.Send(ctx, k.text)
			return err
		},
		Close:  func() error { return out.Close() },
		Parses: func() error { return k.parses(ctx) },
	})
	return out, err
}

// runAnything executes CALL, EXECUTE and the like, which may read and write
// counters and end the transaction.
func (c *conn) runAnything(ctx context.Context, k *call) (answer.Outcome, error) {
	if err := c.ddl.MayMake(ctx, k.text); err != nil {
		return answer.Outcome{}, err
	}
	if err := c.MayChange(ctx, k.text); err != nil {
		return answer.Outcome{}, err
	}
	taken, err := c.SettleAll(ctx, k.Plan)
	if err != nil {
		return answer.Outcome{}, err
	}
	out, err := k.sendWatched(ctx)
	toks := sqltext.Tokenize(sqltext.Opened(k.text, c.Settings.Mode), c.Settings.Mode)
	if k.Plan.Effect == (sqltext.Execute{}) && !toks[0].Is("PREPARE") || sqltext.EffectOf(toks) == (sqltext.DDL{}) { // which mysqldump writes in version comments
		c.connector.watcher.NoteChange()
	}
	behind := func(err error) (moved error) {
		if err == nil && c.InTransaction() && k.Plan.Writes != nil {
			moved = fold.NoneMoved(ctx, c.Folder, taken)
		}
		c.NoteAnything(k.Plan)
		return moved
	}
	if out.Rows != nil { // the server tells only behind them whether the transaction is over
		out.Rows = answer.Over(out.Rows).Then(behind)
		return out, err
	}
	return out, cmp.Or(err, behind(err))
}

// route is what becomes of this execution.
func (k *call) route(f *plan.Filler) plan.Route {
	return k.Plan.Route(k.arguments(), k.setting(), f)
}

// otherwise is the route of an increment that turned out to be none.
func (k *call) otherwise(how increment.After) plan.Route {
	if how == increment.TakeExact {
		return plan.Route{Class: plan.ClassExact, Reason: "its row or its slot can't take it"}
	}
	return k.Plan.Increment().OnBase(k.binder(), k.setting(), "no row takes it")
}

// setting is what the route depends on besides.
func (k *call) setting() plan.Setting {
	c := k.conn
	s := plan.Setting{
		Strict:      c.Settings.Strict,
		SafeUpdates: c.Settings.SafeUpdates,
		Locked:      c.Locks,
		Refused:     c.XAEnded || c.SavedUnbegun(),
		Transaction: c.InTransaction(),
	}
	if s.Transaction {
		s.Serializable, s.ReadOnly, s.GivenUp = c.Level() == sqltext.Serializable, c.ReadOnly(), !c.Usable()
	}
	if inc := k.Plan.Increment(); inc != nil {
		s.Held = c.Open().Holds(inc.Table)
	}
	if b := k.state.buffer; b != nil {
		s.Buffers, s.BuffersNow = true, !s.Transaction && c.AsOpened() && (k.explained || b.Open())
	}
	return s
}

// runData executes a query or a data change.
func (c *conn) runData(ctx context.Context, k *call) (answer.Outcome, error) {
	p, r := k.Plan, k.route(&c.Filler)
	inc := p.Increment()
	if r.Bare {
		return k.Send(ctx, k.text)
	}
	if inc != nil {
		if r.Class == plan.ClassIncrement {
			out, how, err := c.increment(ctx, k, r)
			if r.Buffered && how == increment.Done && err == nil { // its row has taken it
				k.learn()
			}
			if err != nil || how == increment.Done {
				return out, err
			}
			r = k.otherwise(how)
		}
		c.Open().Other()
		if err := c.KeepPromises(ctx); err != nil {
			return answer.Outcome{}, err
		}
		if err := c.SendBegin(ctx); err != nil {
			return answer.Outcome{}, err
		}
	}
	exactly := r.Class == plan.ClassExact
	if err := c.makeWay(ctx, k, exactly || p.Locking); err != nil {
		return answer.Outcome{}, err
	}
	if exactly {
		c.connector.stats.Exactly(r.Reason)
		return c.RunExactly(ctx, k.exactly())
	}
	if p.Sum() != nil {
		x := k.query()
		return c.Reader.Run(ctx, &x)
	}
	out, err := c.runAsIs(ctx, k)
	if err == nil && inc != nil && inc.Wanted != nil {
		c.connector.want(ctx, k)
	}
	return out, err
}

// makeWay does what has to be done in the transaction before a statement; takes says that it locks rows.
func (c *conn) makeWay(ctx context.Context, k *call, takes bool) error {
	p := k.Plan
	writes, increments := p.Writes != nil, p.Increment() != nil
	if takes || writes && !increments {
		if err := c.Hold(ctx, p, takes); err != nil {
			return err
		}
	}
	if takes || writes || increments {
		if err := fold.FollowFor(ctx, c.Folder, p); err != nil {
			return err
		}
	}
	for _, t := range p.Deletes {
		if c.Open().HasPending(t) {
			if err := c.ApplyPending(ctx, t, nil); err != nil {
				return err
			}
		}
	}
	if p.Sweep == nil {
		return nil
	}
	return c.AgainAlone(ctx, false, func() error { return c.SweepOrphans(ctx, p, k.binder()) })
}

// runAsIs sends a data change, or a query of no counters, as it is. An increment that its
// base row alone can't take runs the exact way.
func (c *conn) runAsIs(ctx context.Context, k *call) (answer.Outcome, error) {
	p := k.Plan
	if read, ok := p.Work.(*plan.BaseRead); ok && c.Open() != nil {
		if err := c.ShowOthers(ctx, read, k.binder()); err != nil {
			return answer.Outcome{}, err
		}
	}
	if p.Named {
		c.connector.stats.Verbatim.Add(1)
	}
	var out answer.Outcome
	err := c.AgainAlone(ctx, p.Once, func() (err error) {
		out, err = k.Send(ctx, k.text)
		return err
	})
	c.HasSnapshot = c.HasSnapshot || p.Fixes && err == nil
	if p.Increment() != nil && mysqlerr.Beyond[mysqlerr.Number(err)] {
		c.connector.stats.Exactly("the base row without its slots is at the end of its range")
		return c.RunExactly(ctx, k.exactly())
	}
	if err == nil {
		c.NoteWrites(p.Writes, k.binder(), out.Affected())
	}
	return out, err
}
