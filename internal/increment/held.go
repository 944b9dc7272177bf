package increment

import (
	"context"
	"database/sql/driver"
	"strconv"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/traffic"
)

// A row is held that a transaction has looked for by a shared lock, which it got without
// waiting. It is for a cold row, and where nothing but increments is expected until COMMIT:
// two transactions that hold a row and both edit it, or fold its slots to read it, deadlock,
// which they do not on plain MySQL, where the first of them has locked it for itself. Who
// holds all his rows waits for no base row at COMMIT, and nobody who increments waits for his lock:
// one that is refused sends an increment to a slot, and those go together with held rows. (In the
// process others wait before, without one, for as long as he may have the row: [traffic.Claims].) Only
// behind an edit that waits for a held row do they wait, which may be that one's deadlock.

// hold looks for the row of a promise and locks it; held is false where it may not, or somebody
// else has. Of a promise, as a row that could not take its increment, NULL or touched later,
// would then be wanted exclusively.
func (c *Caller) hold(ctx context.Context, behind *traffic.Behind, l lookup) (found []foundRow, held bool, err error) {
	if !behind.OnlyIncrements() || c.Unbegun != nil || !c.Transaction().HoldsAll(maxDirectRows-1) || c.Altered() || c.HasSnapshot && c.Settings.SnapshotIsolation {
		return nil, false, nil
	}
	b, k := c.shared.byKey(l.t), catalog.Key{l.id}
	if !c.cools(b) || !claims(ctx, c, b, k) {
		return nil, false, nil
	}
	var rows [][]string
	if n, nerr := strconv.ParseInt(l.id, 10, 64); nerr == nil {
		rows, err = c.ReadApart(ctx, l.held, []driver.NamedValue{{Ordinal: 1, Value: n}}, func() string { return l.holding(l.id) })
	} else { // above those
		rows, err = c.Read(ctx, l.holding(l.id))
	}
	if c.Refused(err) {
		b.keys.Meet(k)
		return nil, false, nil
	}
	return l.readAll(rows), err == nil, err
}

// claims has a cold row be the transaction's, among those of the process; false where another one keeps it.
func claims(ctx context.Context, c *Caller, b *Batch, k catalog.Key) bool {
	id := k.ID()
	if b.keys.Hot(id) {
		return false
	}
	mine := c.Traffic.Of(b.keys.Table).Claims.Take(ctx.Done(), id, &c.Leased)
	if !mine {
		b.keys.Meet(k)
	}
	return mine
}

// holding is the text that locks the row of a key. The second lock is of no row: DDL waits for who
// has it, as for an UPDATE's, instead of keeping the UPDATE at COMMIT from the table
// (https://dev.mysql.com/doc/refman/8.4/en/metadata-locking.html).
func (l lookup) holding(id string) string {
	return "SELECT " + l.of(id) + " AND (SELECT 1 FROM " + l.t.Base() + " WHERE FALSE FOR UPDATE) IS NULL " + l.t.NoWait()
}
