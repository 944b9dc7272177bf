package config

import (
	"errors"
	"strings"

	"github.com/countermysql/countermysql/internal/formula"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// derived checks which counters are formulas over other tables. The formula is the counter's
// query for Recount, too.
func (s *checked) derived() {
	byCounter(s, "Derived", s.table.Derived, names{"formula", "formulas", "remove its formula"}, func(name, text, place string) {
		f, err := formula.Parse(text)
		var bad *formula.Error
		switch {
		case errors.As(err, &bad):
			s.report(place, bad.Remedy, "the formula of counter %s: %s", sqltext.Excerpt(name), bad.Problem)
		case strings.EqualFold(f.Table, s.Name) && strings.EqualFold(f.In(s.DB).DB, s.DB):
			s.report(place, "derive it from another table", "the formula of counter %s reads the counter's own table", sqltext.Excerpt(name))
		case s.DB == "": // which has been reported
		default:
			put(&s.Derived, strings.ToLower(name), f.In(s.DB))
			s.recountsBy(strings.ToLower(name), f.In(s.DB), place)
		}
	})
}

// recountsBy makes a formula the query of Recount. Another one would repair what is right.
func (s *checked) recountsBy(key string, f *formula.Formula, place string) {
	if query := s.Recount[key]; query != "" {
		if same, err := formula.Parse(query); err != nil || same.In(s.DB).Query() != f.Query() {
			s.report(place, "remove it from recount: the formula is that query, too", "counter %s has a formula, and another query under recount", sqltext.Excerpt(key))
			return
		}
	}
	put(&s.Recount, key, f.Query())
}

// derivedClash finds formulas of b's over a table that only the driver and its triggers write:
// what they write, and when, is not what a's counters are.
func derivedClash(a, b *checked) {
	for _, key := range sqltext.SortedKeys(b.Derived) {
		f, what := b.Derived[key], ""
		switch {
		case !strings.EqualFold(f.DB, a.DB):
		case strings.EqualFold(f.Table, a.SlotsTable):
			what = "slots"
		case a.History.Table != "" && strings.EqualFold(f.Table, a.History.Table):
			what = "history"
		}
		if what != "" {
			b.report(b.place("Derived"), "derive it from the application's own tables", "the formula of counter %s reads the %s of table %s", sqltext.Excerpt(key), what, sqltext.Excerpt(a.String()))
		}
	}
}
