package countermysql

import (
	"context"
	"slices"
	"time"
)

// refusals are how many keys in a row the server may refuse before the rollup
// ends with the error: then it is not the key.
const refusals = 10

// batch rolls up some keys. Rows that are locked are skipped at first, so that
// the rollup never waits while it keeps others waiting, and no deadlock can
// come of it; then each of them is waited for alone.
func (r *rollup) batch(ctx context.Context, keys []key) error {
	start := time.Now()
	taken, err := r.fold(ctx, r.t.key, keys, "FOR UPDATE SKIP LOCKED")
	if err != nil && errorNumber(err) == 0 {
		return err
	}
	switch held := time.Since(start); {
	case held > r.maxLock:
		r.size = max(1, r.size/2)
	case held < r.maxLock/2:
		r.size = min(foldBatch, r.size*2)
	}
	for _, k := range keys {
		if taken[k.id()] {
			r.failed = 0
			continue
		}
		if err := r.alone(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// passing are errors that another try may not meet: locks, and a killed query.
var passing = map[uint16]bool{errLockWait: true, errDeadlock: true, errChangedRow: true, 1317: true, errNoWait: true}

// alone rolls up one key in a transaction of its own.
func (r *rollup) alone(ctx context.Context, k key) error {
	for try := 0; ; try++ {
		taken, err := r.fold(ctx, r.t.key, []key{k}, "FOR UPDATE")
		if err == nil && len(taken) == 0 {
			err = r.removeOrphan(ctx, k)
		}
		switch n := errorNumber(err); {
		case err == nil:
			r.failed = 0
			return nil
		case n == 0:
			return err
		case passing[n] && n != errLockWait && try < 3:
		case passing[n]:
			r.out.Busy++
			return nil
		default:
			if r.failed++; r.failed >= refusals {
				return err
			}
			r.leave(k, err.Error())
			return nil
		}
	}
}

func (r *rollup) leave(k key, reason string) {
	if len(r.out.Left) < maxLeft {
		r.out.Left = append(r.out.Left, Left{r.t.describe(k), reason})
	}
	r.warn(k, reason)
}

// transaction runs f in a transaction of its own. What f counted is void if it fails.
func (r *rollup) transaction(ctx context.Context, f func() error) error {
	before := *r.out
	if err := r.c.start(ctx); err != nil {
		return err
	}
	err := r.c.finish(ctx, f())
	if err != nil {
		*r.out = before
	}
	return err
}

// fold rolls up those rows, given by keys of cols, which it gets, and returns their
// primary keys.
func (r *rollup) fold(ctx context.Context, cols []*column, keys []key, how string) (map[string]bool, error) {
	c, t := r.c, r.t
	taken := map[string]bool{}
	left := map[string]string{}
	var folded []lockedRow
	err := r.transaction(ctx, func() error {
		rows, err := c.lockAs(ctx, t, quoteIdent(t.spec.name), t.base()+t.force(cols), whereAny(cols, keys, quoteIdent(t.spec.name)), how)
		if err != nil || len(rows) == 0 {
			return err
		}
		folded = rows
		locked := make([]key, len(rows))
		for i, row := range rows {
			locked[i] = row.key
			taken[row.key.id()] = true
		}
		found, err := c.slotRows(ctx, t, locked, func(ctx context.Context, query string) ([][]string, error) {
			return c.read(ctx, query+" FOR UPDATE")
		})
		if err != nil {
			return err
		}
		var whole []lockedRow
		for _, row := range rows {
			slots := found[row.key.id()]
			if slots == nil {
				continue
			}
			if column := t.overflow(row, slots); column != "" {
				left[row.key.id()] = "column " + column + " can't hold the counter's value; make the column larger"
				if err := r.foldPart(ctx, row, slots); err != nil {
					return err
				}
				continue
			}
			r.out.Keys++
			r.out.Slots += int64(len(slots))
			whole = append(whole, row)
		}
		if err := c.foldBatch(ctx, t, whole, found); err != nil || r.correct == nil {
			return err
		}
		return r.correct(ctx, locked)
	})
	if err != nil {
		return nil, err
	}
	for _, row := range folded {
		if reason := left[row.key.id()]; reason != "" {
			r.leave(row.key, reason)
		}
	}
	return taken, nil
}

// removeOrphan removes the slots of a row that does not exist. The row may be
// inserted meanwhile, so the slots are locked first: who increments the new row
// then waits for them, and sees the row's lock refused here if it is quicker.
func (r *rollup) removeOrphan(ctx context.Context, k key) error {
	c, t := r.c, r.t
	if len(t.key) == 0 {
		return nil // the table is empty: the next INSERT clears its slots
	}
	return r.transaction(ctx, func() error {
		found, err := c.slotRows(ctx, t, []key{k}, func(ctx context.Context, query string) ([][]string, error) {
			return c.read(ctx, query+" FOR UPDATE NOWAIT")
		})
		if err != nil || len(found) == 0 {
			return err
		}
		rows, err := c.lockAs(ctx, t, quoteIdent(t.spec.name), t.base()+t.forceKey(), t.where(k, quoteIdent(t.spec.name)), "FOR UPDATE NOWAIT")
		if err != nil || len(rows) > 0 {
			return err // it exists by now: the next rollup takes it
		}
		r.out.Orphans += int64(len(found[k.id()]))
		return c.removeSlots(ctx, t, slices.Clone(found[k.id()]))
	})
}
