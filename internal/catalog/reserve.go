package catalog

import (
	"slices"
	"strings"
)

// MaxReserve bounds the reserved rows of a key: reads add all of them up.
const MaxReserve = 512

// ReservedRows is how many rows a key has of which so many are taken from: the first one, which
// holds nothing, is locked by who goes on to the base row.
func ReservedRows(n int) int { return n + 1 }

// ReserveOf is how many reserved rows each key of a counter gets when many want it, as it is
// configured.
func (s Spec) ReserveOf(c *Column) int {
	if n, named := s.Reserve.Of[strings.ToLower(c.Name)]; named {
		return n
	}
	return s.Reserve.All
}

// KeepsUnits reports whether slots of reserved numbers are those that guarded updates take
// from: elsewhere triggers write them, or they are buckets.
func KeepsUnits(t *Table) bool {
	return !t.Fed && t.Spec.History.Every == 0 && !t.History.Inserts && !t.History.Updates
}

// Reserves reports whether keys of the table get some.
func Reserves(t *Table) bool {
	return slices.ContainsFunc(t.Counters, func(c *Column) bool { return t.Spec.ReserveOf(c) > 0 && c.Unreserved(t) == "" })
}

// Reservable reports whether some process may have them get some.
func Reservable(t *Table) bool {
	return slices.ContainsFunc(t.Counters, func(c *Column) bool { return c.Unreserved(t) == "" })
}

// Unreserved is why a counter has no reserved rows whatever is configured; "" if it may.
func (c *Column) Unreserved(t *Table) string {
	nullable := slices.IndexFunc(t.Counters, func(c *Column) bool { return c.Nullable })
	cascading := slices.IndexFunc(t.Parents, func(fk ForeignKey) bool { return fk.Cascades })
	switch {
	case !c.Integer() || !c.Unsigned():
		return "it is no integer that is UNSIGNED, and could go below zero"
	case !KeepsUnits(t):
		return "the table has derived counters, or a history"
	case !t.Key.Integers():
		return "the table's key is not of integers"
	case cascading >= 0: // which locks no reserved row
		return "a foreign key to " + t.Parents[cascading].Parent + " changes or deletes its rows"
	case t.CheckedBy != "":
		return "a " + t.CheckedBy + " reads a counter"
	case t.UpdateTriggers:
		return "the table has a trigger for UPDATE"
	case t.Cluster:
		return "on a cluster, locks are of one node only"
	case nullable >= 0:
		return "counter " + t.Counters[nullable].Name + " may be NULL"
	}
	return ""
}
