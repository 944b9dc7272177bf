package countermysql

import (
	"context"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/plan"
)

// hold notes on a cluster that the transaction's next statement may lock rows: what it
// increments then goes to base rows. takes says that the statement may be all that it
// does to a row, without a write: what is pending goes there as well.
func (c *conn) hold(ctx context.Context, p *plan.Plan, takes bool) error {
	if s := c.connector.watcher.Current(); s == nil || !s.Server.Galera || !c.inTransaction() {
		return nil
	}
	tables := append(p.Tables(), p.Shows...)
	for _, w := range p.Writes {
		if w.Updates || w.Upserts || takes {
			tables = append(tables, w.Table)
		}
	}
	x := c.transaction()
	for _, t := range tables {
		if !slices.Contains(x.held, t.String()) {
			x.held = append(x.held, t.String())
		}
		if takes && x.hasPending(t) {
			if err := c.apply(ctx, t, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// holds reports whether increments of a table go to base rows on a cluster, as the
// transaction may have locked some of them, or written rows that are not known.
func (x *txState) holds(t *catalog.Table) bool {
	if x == nil || !t.Galera {
		return false
	}
	w := x.written[t.String()]
	return x.inside || w != nil && w.any || slices.Contains(x.held, t.String())
}
