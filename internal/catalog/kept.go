package catalog

import (
	"fmt"
	"slices"

	"github.com/countermysql/countermysql/internal/stats"
)

// unkept are the derived counters that lack a trigger as it is to be, of those that there are.
func unkept(t *Table, there func(Trigger) bool) (counters []string) {
	triggers := t.Triggers()
	for _, c := range t.Counters {
		keeps := func(g Trigger) bool { return slices.Contains(g.Counters, c.Name) }
		lacks := func(g Trigger) bool { return keeps(g) && !there(g) }
		// Without any, its formula does not fit the key, say.
		if t.Spec.FormulaOf(c) != nil && (!slices.ContainsFunc(triggers, keeps) || slices.ContainsFunc(triggers, lacks)) {
			counters = append(counters, c.Name)
		}
	}
	return counters
}

// Derived are the derived counters, in order, and what keeps them from following their formulas.
func (s *Schema) Derived() (all []stats.DerivedStatistics) {
	for _, t := range s.All() {
		for _, c := range t.Counters {
			f := t.Spec.FormulaOf(c)
			if f == nil {
				continue
			}
			problem := ""
			if slices.Contains(t.Unkept, c.Name) {
				problem = fmt.Sprintf("a trigger of %s.%s that keeps it is missing, or is another, or the user may not see it", f.DB, f.Table)
			}
			all = append(all, stats.DerivedStatistics{Table: t.String(), Counter: c.Name, Problem: problem})
		}
	}
	return all
}

// Histories are the configured histories, in order, and why one is not written so.
func (s *Schema) Histories() (all []stats.HistoryStatistics) {
	for _, t := range s.All() {
		if h := t.Spec.History; h.Every > 0 {
			all = append(all, stats.HistoryStatistics{Table: t.String(), History: h.Table, Every: h.Every, Problem: t.History.Problem(h)})
		}
	}
	return all
}

// Problem is why the triggers do not write a history as it is configured; "": they do.
func (h HistoryState) Problem(spec History) string {
	switch {
	case h.Outdated:
		return "its triggers " + spec.Table + HistoryInsert + " and " + spec.Table + HistoryUpdate + " write a history of other counters, or were changed"
	case h.Whole() && h.Table == spec.Table && h.Every == spec.Every:
		return ""
	case h.Whole():
		return fmt.Sprintf("its triggers write the history %s in intervals of %s, and not %s of %s, as is configured", h.Table, h.Every, spec.Table, spec.Every)
	}
	return "a trigger that writes its history is missing, or the user may not see it, so that changes are missing in " + spec.Table
}
