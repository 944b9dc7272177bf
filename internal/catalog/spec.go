package catalog

import (
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/formula"
)

// Spec is one configured table with nothing left open. It is immutable.
type Spec struct {
	DB, Name    string // db is never empty
	SlotsTable  string // in db
	Counters    []string
	Touch       []string
	Slots       int
	OwnSnapshot bool                        // reads in transactions are of the snapshot: ReadOwnSnapshot
	Recount     map[string]string           // by counter
	Derived     map[string]*formula.Formula // likewise
	Buffered    Buffered
	History     History
	Reserve     Reserve
}

// Reserve says how many reserved rows counters have; the zero value: none.
type Reserve struct {
	All int            // of each UNSIGNED counter that is not named
	Of  map[string]int // by counter
}

// ReserveOf is how many reserved rows each key of a counter gets when it is wanted by many; 0
// for what can go below zero.
func (s Spec) ReserveOf(c *Column) int {
	if !c.Integer() || !c.Unsigned() {
		return 0
	}
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

// Buffered says how increments wait in memory; the zero value: they don't.
type Buffered struct {
	Every time.Duration // they are stored
	Keys  int           // that may wait at most
}

// FormulaOf is what a derived counter is; nil if it is none.
func (s Spec) FormulaOf(c *Column) *formula.Formula { return s.Derived[strings.ToLower(c.Name)] }

func (s Spec) RecountOf(c *Column) string { return s.Recount[strings.ToLower(c.Name)] }
