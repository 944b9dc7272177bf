package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/plan"
)

// acknowledge adds an increment to its table's buffer; done is false where it runs as usual.
// A connection has one call for that, whose memory it uses again.
func (c *conn) acknowledge(ctx context.Context, of call) (out answer.Outcome, done bool, err error) {
	k := &c.waiting
	if *k = of; k.lits != nil {
		c.merged = k.lits.MergeInto(c.merged[:0], k.args)
		k.merged = c.merged
	}
	if ctx.Err() != nil || k.Encounter != nil {
		return out, false, nil
	}
	if r := k.route(&c.Filler); !r.Buffered || !r.Lone {
		return out, false, nil
	}
	if c.key, done = c.Filler.AppendKey(c.key[:0]); !done {
		return out, false, nil
	}
	if done, err = k.state.buffer.Add(ctx, k.Plan.Increment().Table, c.key, c.Filler.Deltas()); !done || err != nil {
		return out, err != nil, err
	}
	out, _, err = k.counted(increment.Counted{Rows: 1}, increment.Done, nil)
	return out, true, err
}

// learn tells the buffer that a row has taken the increment.
func (k *call) learn() {
	c, inc := k.conn, k.Plan.Increment()
	if !c.Filler.Bind(inc, k.binder()) {
		return
	}
	if id, ok := c.Filler.AppendKey(c.key[:0]); ok {
		c.key = id
		k.state.buffer.Learn(inc.Table, id, c.Filler.Deltas())
	}
}

// increment runs a relative write as an increment. By a route of a lone one it may find out
// that it is none.
func (c *conn) increment(ctx context.Context, k *call, r plan.Route) (answer.Outcome, increment.After, error) {
	if c.Open() != nil && c.HasFree(k.exactly()) {
		return answer.Outcome{}, increment.TakeVerbatim, nil
	}
	if !r.Buffered {
		if out, done, err := c.RunBeside(ctx, k.exactly()); done {
			return out, increment.Done, err
		}
	}
	x := k.counts()
	if r.Lone {
		if n, how, err := c.CountOne(ctx, x); how != increment.NotTried {
			return k.counted(n, how, err)
		}
		switch r = k.route(nil); r.Class {
		case plan.ClassExact:
			return answer.Outcome{}, increment.TakeExact, nil
		case plan.ClassVerbatim:
			return answer.Outcome{}, increment.TakeVerbatim, nil
		}
	}
	if err := c.BeginImplied(ctx); err != nil {
		return answer.Outcome{}, increment.Done, err
	}
	return k.counted(c.Count(ctx, x, r.Bound))
}

// counts is the execution as an increment.
func (k *call) counts() increment.Execution {
	return increment.Execution{Increment: k.Plan.Increment(), Binder: k.binder(), Batch: k.state.batch, Behind: &k.state.behind, Rows: k.rows}
}

// counted is the answer that the plain statement would have given.
func (k *call) counted(n increment.Counted, how increment.After, err error) (answer.Outcome, increment.After, error) {
	switch {
	case err != nil || how != increment.Done:
		return answer.Outcome{}, how, err
	case n.Promise != nil:
		return answer.Outcome{Result: n.Promise}, how, nil
	case k.rows:
		return answer.Outcome{Rows: answer.NoRows{}}, how, nil
	}
	return answer.Outcome{Result: answer.Affected(n.Rows)}, how, nil
}
