package countermysql

import (
	"context"
	"slices"
)

// On a cluster whose nodes can all be written, a lock is one node's alone. Two nodes that
// have written the same row conflict when they commit, but a slot is another row than its
// base row (https://mariadb.com/kb/en/about-galera-replication/). So an increment that
// must not pass what another node does to the row goes to the base row.

// verbatim reports whether an increment goes to the base row. On a cluster that is also
// where its condition may have changed on another node.
func (inc *increment) verbatim() bool {
	return inc.t.verbatim() || inc.t.galera && (!inc.byKey || inc.narrowed)
}

// hold notes on a cluster that the transaction's next statement may lock rows: what it
// increments then goes to base rows. takes says that the statement may be all that it
// does to a row, without a write: what is pending goes there as well.
func (c *conn) hold(ctx context.Context, p *plan, takes bool) error {
	if s := c.connector.current.Load(); s == nil || !s.server.galera || !c.inTransaction() {
		return nil
	}
	tables := append(p.tables(), p.shows...)
	for _, w := range p.writes {
		if w.updates || w.upserts || takes {
			tables = append(tables, w.t)
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
func (x *txState) holds(t *table) bool {
	if x == nil || !t.galera {
		return false
	}
	w := x.written[t.String()]
	return x.inside || w != nil && w.any || slices.Contains(x.held, t.String())
}
