package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/plan"
)

// increment runs a relative write as an increment. By a route of a lone one it may find out
// that it is none.
func (c *conn) increment(ctx context.Context, k *call, r plan.Route) (answer.Outcome, increment.After, error) {
	if !r.Buffered || !r.Lone {
		return c.incrementNow(ctx, k, r)
	}
	t, id, ok := k.Plan.Increment().Table, []byte(nil), false
	if id, ok = c.Filler.AppendKey(c.key[:0]); !ok {
		return c.incrementNow(ctx, k, r)
	}
	c.key = id
	if waits, err := k.state.buffer.Add(ctx, t, id, c.Filler.Deltas()); waits || err != nil {
		return k.counted(increment.Counted{Rows: 1}, increment.Done, err)
	}
	out, how, err := c.incrementNow(ctx, k, r)
	if err == nil && how == increment.Done { // its row has taken it
		k.state.buffer.Learn(t, id, c.Filler.Deltas())
	}
	return out, how, err
}

// incrementNow is increment for one that is not buffered.
func (c *conn) incrementNow(ctx context.Context, k *call, r plan.Route) (answer.Outcome, increment.After, error) {
	if r.Lone {
		n, how, err := c.CountAlone(ctx, k.counts())
		if how != increment.NotTried {
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
	return k.counted(c.Count(ctx, k.counts(), r.Bound))
}

// counts is the execution as an increment.
func (k *call) counts() increment.Execution {
	return increment.Execution{Increment: k.Plan.Increment(), Binder: k.binder(), Batch: k.state.batch, Sole: &k.state.sole, Rows: k.rows}
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
