package increment

import (
	"context"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/txn"
)

// sendTaken writes what a transaction has taken of the reserved rows that it has locked. It
// locks nothing else: who waits for these rows may have the base row locked.
func (c *Caller) sendTaken(ctx context.Context, x *txn.State) error {
	for _, p := range x.Unsent() {
		for _, e := range p.Sorted() {
			if !e.IsTaken() {
				continue
			}
			affected, err := c.Do(ctx, c.Settings.Unsnapshot()+slotsql.TakeReserved(p.Table, e))
			switch n := mysqlerr.Number(err); {
			case n == mysqlerr.ErrOutOfRange || n == mysqlerr.ErrDataRange: // of a counter that it increments besides
				if err := c.ApplyEntry(ctx, p.Table, e); err != nil {
					return err
				}
				continue
			case err != nil:
				return err
			case affected == 0 && e.Counts(): // its lock keeps it, but not from who takes the table for another
				return c.AsDeadlock("a reserved row of " + p.Table.String() + " is gone")
			}
			x.SentTaken(p, e)
		}
	}
	return nil
}

// Take adds to what the transaction has pending what it takes of a reserved row that it has
// locked; false, and nothing is taken, where the sum leaves 64 bits.
func (c *Caller) Take(t *catalog.Table, e slotsql.RowIncrement) bool {
	x := c.Transaction()
	p := x.PendingFor(t)
	if !p.Add(e) {
		return false
	}
	p.NoteLate(c.HasSnapshot)
	x.Increments++
	c.Stats.Pending.Add(1)
	c.Stats.Reserved.Add(1)
	return true
}

// Fill has reserved rows of a key filled beside the transaction, if several so many units of
// one are to be taken from each.
func (c *Caller) Fill(t *catalog.Table, k catalog.Key, counter *catalog.Column, units int64) {
	c.shared.Background.Fill(t, k, counter, units)
}
