package catalog

import (
	"slices"
	"strings"
)

// MaxReserve bounds the reserved rows of a key: reads add all of them up.
const MaxReserve = 512

// ReserveOf is how many reserved rows each key of a counter gets when many want it, as it is
// configured.
func (s Spec) ReserveOf(c *Column) int {
	if n, named := s.Reserve.Of[strings.ToLower(c.Name)]; named {
		return n
	}
	return s.Reserve.All
}

// MayReserve reports whether slots of reserved numbers are those that guarded updates take
// from: elsewhere triggers write them, or they are buckets.
func MayReserve(t *Table) bool {
	return !t.Fed && t.Spec.History.Every == 0 && !t.History.Inserts && !t.History.Updates
}

// Reserves reports whether the table is configured to have some.
func Reserves(t *Table) bool {
	return (t.Spec.Reserve.All > 0 || len(t.Spec.Reserve.Of) > 0) && MayReserve(t)
}

// Unreserved is why a counter has no reserved rows whatever is configured; "" if it may.
func (c *Column) Unreserved(t *Table) string {
	nullable := slices.IndexFunc(t.Counters, func(c *Column) bool { return c.Nullable })
	switch {
	case !c.Integer() || !c.Unsigned():
		return "it is no integer that is UNSIGNED, and could go below zero"
	case !MayReserve(t):
		return "the table has derived counters, or a history"
	case len(t.Key) == 0:
		return "the table has no key"
	case t.CheckedBy != "":
		return "a " + t.CheckedBy + " reads a counter"
	case t.UpdateTriggers:
		return "the table has a trigger for UPDATE"
	case t.Galera:
		return "on a cluster, locks are of one node only"
	case nullable >= 0:
		return "counter " + t.Counters[nullable].Name + " may be NULL"
	}
	return ""
}
