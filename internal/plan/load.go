package plan

import (
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// load plans LOAD DATA: rows whose keys are not known before.
func (a *analyzer) load(tables []*catalog.Table, via []catalog.Dependent) *Plan {
	named := a.namedTables(tables)
	_, via = a.outsideStrings(nil, via)
	keyless := slices.ContainsFunc(named, func(t *catalog.Table) bool { return len(t.Key) == 0 })
	reason := ""
	switch {
	case sqltext.HasWord(a.toks, "SELECT"):
		reason = "it reads a counter table in a subquery"
	case keyless:
		reason = "a keyless table must not grow"
	case len(named) != 1, len(via) > 0, sqltext.HasWord(a.toks, "REPLACE"):
		reason = "it may replace rows"
	}
	if reason != "" {
		p := a.opaque(named, via, reason)
		if len(named) == 1 && !keyless && p.Class() != ClassRefused {
			p.Sweep = &OrphanSweep{Table: named[0]}
		}
		return p
	}
	if p := a.refusal(named); p != nil {
		return p
	}
	return &Plan{Changes: Changes{Sweep: &OrphanSweep{Table: named[0]}, Writes: anyRow(named)}}
}
