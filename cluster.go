package countermysql

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/plan"
)

// hold notes on a cluster that the transaction's next statement may lock rows: what it
// increments then goes to base rows. takes says that the statement may be all that it
// does to a row, without a write: what is pending goes there as well.
func (c *conn) hold(ctx context.Context, p *plan.Plan, takes bool) error {
	if s := c.connector.watcher.Current(); s == nil || !s.Server.Galera || !c.InTransaction() {
		return nil
	}
	tables := append(p.Tables(), p.Shows...)
	for _, w := range p.Writes {
		if w.Updates || w.Upserts || takes {
			tables = append(tables, w.Table)
		}
	}
	x := c.Transaction()
	for _, t := range tables {
		if !slices.Contains(x.Held, t.String()) {
			x.Held = append(x.Held, t.String())
		}
		if takes && x.HasPending(t) {
			if err := c.apply(ctx, t, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
