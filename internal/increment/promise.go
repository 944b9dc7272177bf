package increment

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
	"github.com/countermysql/countermysql/internal/traffic"
	"github.com/countermysql/countermysql/internal/txn"
)

// keeper keeps the promises of a connection's transaction for who asks a Result.
type keeper Caller

func (k *keeper) KeepPromises() {
	c := (*Caller)(k)
	_ = c.KeepPromises(c.Ctx) // the promises have the error
}

// isUntouched reports whether an increment is one of one row, by a primary key of one integer
// and nothing else, and the transaction has done nothing that concerns the row.
func (c *Caller) isUntouched(of Execution, b *plan.BoundIncrement) bool {
	t, x := b.Table, c.Transaction()
	w, p := x.Written[t.String()], x.Pending[t.String()]
	return c.Ctx != nil && !of.Rows && b.ID != "" && !x.Called && !x.Inside && (w == nil || !w.Some()) && p.Get(b.ID) == nil
}

// mayPromise reports whether the row of such an increment need not be looked for yet:
// whether it is there is all that RowsAffected depends on.
func mayPromise(x *txn.State, b *plan.BoundIncrement) bool {
	t := b.Table
	if len(t.Touch) > 0 {
		return false
	}
	for i, d := range b.Deltas[0] {
		if d != 0 && t.Counters[i].Nullable {
			return false
		}
	}
	return !slices.ContainsFunc(x.Promises, func(p *txn.Promise) bool { return p.Bound.Table == t && p.Bound.ID == b.ID })
}

// promise adds an increment to the transaction's, and returns its result.
func (c *Caller) promise(b *plan.BoundIncrement, behind *traffic.Behind) *txn.Promise {
	x, p := c.Transaction(), &txn.Promise{Keeper: (*keeper)(c), Bound: b, Behind: behind, Late: c.HasSnapshot, Affected: 1}
	x.Promises = append(x.Promises, p)
	x.Increments++
	c.Stats.Pending.Add(1)
	return p
}

// KeepPromises looks for the rows of increments that were not looked for. If it fails,
// the transaction is lost: the application has been told that they were done.
func (c *Caller) KeepPromises(ctx context.Context) error {
	if c.Tx == nil || len(c.Tx.Promises) == 0 {
		return nil
	}
	defer c.CloseOnPanic()
	x := c.Tx
	for i, p := range x.Promises {
		if err := c.keep(ctx, p, i == len(x.Promises)-1); err != nil {
			for _, p := range x.Promises[i:] {
				p.Keeper, p.Err = nil, err // to who overlooks the error, no row is missing: COMMIT fails
			}
			x.Promises = nil
			c.Broken = err
			c.Lose(err)
			return err
		}
		p.Keeper = nil
	}
	x.Promises = nil
	return nil
}

// keep looks for the row of a promise. Where it seems to be missing, another transaction
// may be about to insert it: then the statement itself finds out.
func (c *Caller) keep(ctx context.Context, p *txn.Promise, last bool) error {
	t, e := p.Bound.Table, p.Entry()
	if last {
		if sent, err := c.sendAtOnce(ctx, t, &e, p.Behind); sent || err != nil {
			return err
		}
	}
	hits, how, err := c.findAll(ctx, p.Bound, p.Behind)
	if err != nil {
		return err
	}
	if how == Done {
		return c.addPending(ctx, t, hits, p.Late)
	}
	if err := c.SendBegin(ctx); err != nil {
		return err
	}
	n, err := c.AddToBase(ctx, t, &e)
	if err != nil {
		return err
	}
	if p.Affected = n; n == 0 {
		return nil
	}
	if c.Config.ClientFoundRows { // it may have been NULL
		c.Transaction().WrittenTo(t).SetUnbounded()
		return nil
	}
	c.Transaction().WrittenTo(t).MarkKey(e.Key)
	return nil
}

// Adopt makes the transaction go over to a schema that was learned while it was open: it has
// not locked what it has only incremented, which others may alter. Where what it remembers of
// a table would be wrong of that now, it is rolled back.
func (c *Caller) Adopt(ctx context.Context, s *catalog.Schema) error {
	x := c.Tx
	if x == nil || x.Schema == s {
		return nil
	}
	if t := x.Redefined(s); t != nil {
		return c.AsDeadlock("the key, a counter or a touch column of " + t.String() + " has been changed meanwhile")
	}
	if x.Outdated(s) {
		if err := c.KeepPromises(ctx); err != nil {
			return err
		}
	}
	x.GoOver(s)
	return nil
}
