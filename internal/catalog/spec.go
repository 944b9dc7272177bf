package catalog

import (
	"strings"
)

// Spec is one configured table with nothing left open. It is immutable.
type Spec struct {
	DB, Name    string // db is never empty
	SlotsTable  string // in db
	Counters    []string
	Touch       []string
	Slots       int
	OwnSnapshot bool              // reads in transactions are of the snapshot: ReadOwnSnapshot
	Recount     map[string]string // by counter
}

func (s Spec) RecountOf(c *Column) string { return s.Recount[strings.ToLower(c.Name)] }
