package catalog

import (
	"slices"
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

// Buffered says how increments wait in memory; the zero value: they don't.
type Buffered struct {
	Every    time.Duration // they are stored
	Keys     int           // that may wait at most
	Counters []string      // whose; none: those of all
}

// Takes reports whether increments of a counter wait.
func (b Buffered) Takes(counter string) bool {
	return b.Every > 0 && (len(b.Counters) == 0 || slices.ContainsFunc(b.Counters, func(c string) bool { return strings.EqualFold(c, counter) }))
}

// FormulaOf is what a derived counter is; nil if it is none.
func (s Spec) FormulaOf(c *Column) *formula.Formula { return s.Derived[strings.ToLower(c.Name)] }

func (s Spec) RecountOf(c *Column) string { return s.Recount[strings.ToLower(c.Name)] }
