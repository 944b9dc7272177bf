package plan

import (
	"slices"

	"github.com/countermysql/countermysql/internal/slotsql"
	"github.com/countermysql/countermysql/internal/stock"
)

// TakesFromParts reports whether the guarded update may take from a part of the counter's value
// that has enough: it takes from one that is never below zero, and that nothing else looks at.
func (g *Guard) TakesFromParts() bool {
	return g.Counter.Unsigned() && g.Other == nil && g.floor == nil && (g.bound == nil || g.bound.lower) && g.Table.CheckedBy == "" && slices.Equal(g.key.Columns, g.Table.Key)
}

// Reserves reports whether such a one may take from a reserved row: its counter has some, and it
// neither asks nor writes anything else of the base row.
func (g *Guard) Reserves() bool {
	return !g.more && !g.Table.Verbatim() && g.Table.Spec.ReserveOf(g.Counter) > 0 && g.Counter.Unreserved(g.Table) == ""
}

// Taken is what it takes, and how many units a part has to have for it; ok is false where the
// server may compute otherwise, or a time is not the present.
func (g *Guard) Taken(b Binder) (e slotsql.RowIncrement, units int64, ok bool) {
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
