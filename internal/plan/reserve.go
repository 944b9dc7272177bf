package plan

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/stock"
)

// Reserves reports whether what the guarded update takes may be taken from a reserved row: it
// takes from a counter that has some, which is never below zero, so that one that has enough
// tells that all of them have; and it neither asks nor writes anything else of the base row.
func (g *Guard) Reserves() bool {
	t := g.Table
	return t.Reserves() && t.ReserveOf(g.Counter) > 0 && !t.Verbatim() && t.CheckedBy == "" && !g.more && g.Other == nil && (g.bound == nil || g.bound.lower) &&
		slices.Equal(g.key.Columns, t.Key) && !slices.ContainsFunc(t.Counters, func(c *catalog.Column) bool { return c.Nullable })
}

// Reserved is what such an update takes, and how many units a row has to have for it; ok is false
// where the server may compute otherwise, or the times are not the present.
func (g *Guard) Reserved(b Binder) (e slotsql.RowIncrement, units int64, ok bool) {
	x, ok := g.Bind(b)
	if !ok || x.Delta >= 0 || x.how != 0 {
		return e, 0, false
	}
	key, ok := g.key.Key(g.Table, b)
	if !ok {
		return e, 0, false
	}
	e = slotsql.RowIncrement{ID: key.ID(), Key: key, Deltas: make([]int64, len(g.Table.Counters)), Touch: make([]string, len(g.Table.Touch))}
	e.Deltas[slices.Index(g.Table.Counters, g.Counter)] = x.Delta
	if units = -x.Delta; x.Limit != stock.Unlimited {
		units = max(units, x.Limit)
	}
	return e, units, times(g.Table, g.times, b, e.Touch)
}
