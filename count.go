package countermysql

import (
	"context"

	"github.com/countermysql/countermysql/internal/answer"
	"github.com/countermysql/countermysql/internal/increment"
	"github.com/countermysql/countermysql/internal/plan"
)

// increment runs a relative write as an increment. By a route of a lone one it may find out
// that it is none.
func (c *conn) increment(ctx context.Context, k *call, r plan.Route) (outcome, increment.After, error) {
	if r.Lone {
		n, how, err := c.CountAlone(ctx, k.counts())
		if how != increment.NotTried {
			return k.counted(n, how, err)
		}
		switch r = k.route(nil); r.Class {
		case plan.Exact:
			return outcome{}, increment.TakeExact, nil
		case plan.Verbatim:
			return outcome{}, increment.TakeVerbatim, nil
		}
	}
	if err := c.BeginImplied(ctx); err != nil {
		return outcome{}, increment.Done, err
	}
	return k.counted(c.Count(ctx, k.counts(), r.Bound))
}

// counts is the execution as an increment.
func (k *call) counts() increment.Execution {
	return increment.Execution{Increment: k.Plan.Increment, Binder: k.binder(), Batch: k.state.batch, Rows: k.rows}
}

// counted is the answer that the plain statement would have given.
func (k *call) counted(n increment.Counted, how increment.After, err error) (outcome, increment.After, error) {
	switch {
	case err != nil || how != increment.Done:
		return outcome{}, how, err
	case n.Promise != nil:
		return outcome{res: n.Promise}, how, nil
	case k.rows:
		return outcome{rows: answer.NoRows{}}, how, nil
	}
	return outcome{res: answer.Affected(n.Rows)}, how, nil
}
