package increment

import (
	"context"

	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/txn"
)

// sendTaken writes what a transaction has taken of the reserved rows that it has locked. It
// locks nothing else: who waits for these rows may have the base row locked.
func sendTaken(ctx context.Context, c *Caller, x *txn.State) error {
	if len(c.Taken) == 0 { // nor wanted
		return nil
	}
	for _, p := range x.Unsent() {
		for _, e := range p.Sorted() {
			if e.Slot == 0 {
				continue
			}
			affected, err := c.Do(ctx, c.Settings.Unsnapshot()+slotsql.TakeReserved(p.Table, e))
			switch n := mysqlerr.Number(err); {
			case mysqlerr.Beyond[n]: // of a counter that it increments besides
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
