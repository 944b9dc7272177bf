package config

import (
	"cmp"
	"errors"
	"strings"

	"github.com/countermysql/countermysql/internal/formula"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// derived checks which counters are formulas over other tables. The formula is the counter's
// query for Recount, too.
func (k *checker) derived(spec *checkedSpec, t *Table, in string) {
	place := cmp.Or(t.At.derived, in+"Derived")
	spec.derivedAt = place
	for _, text := range sqltext.SortedKeys(t.Derived) {
		name, ok := k.column(text, place)
		key := strings.ToLower(name)
		f, err := formula.Parse(t.Derived[text])
		var bad *formula.Error
		switch {
		case !ok:
		case !hasColumn(spec.Counters, name):
			k.report(place, "list it among the counters, or remove its formula", "%s, which has a formula, is not a counter of table %s", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		case spec.Derived[key] != nil:
			k.report(place, "keep one of them", "counter %s of table %s has two formulas", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		case errors.As(err, &bad):
			k.report(place, bad.Remedy, "the formula of counter %s: %s", sqltext.Excerpt(name), bad.Problem)
		case strings.EqualFold(f.Table, spec.Name) && strings.EqualFold(f.In(spec.DB).DB, spec.DB):
			k.report(place, "derive it from another table", "the formula of counter %s reads the counter's own table", sqltext.Excerpt(name))
		case spec.DB == "": // which has been reported
		default:
			f = f.In(spec.DB)
			if spec.Derived == nil {
				spec.Derived = map[string]*formula.Formula{}
			}
			spec.Derived[key] = f
			k.recountsBy(spec, key, f, place)
		}
	}
}

// derivedClash finds formulas of b's over a table that only the driver and its triggers write:
// what they write, and when, is not what a's counters are.
func (k *checker) derivedClash(a, b *checkedSpec) {
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
			k.report(b.derivedAt, "derive it from the application's own tables", "the formula of counter %s reads the %s of table %s", sqltext.Excerpt(key), what, sqltext.Excerpt(a.String()))
		}
	}
}

// recountsBy makes a formula the query of Recount. Another one would repair what is right.
func (k *checker) recountsBy(spec *checkedSpec, key string, f *formula.Formula, place string) {
	if query := spec.Recount[key]; query != "" {
		if same, err := formula.Parse(query); err != nil || same.In(spec.DB).Query() != f.Query() {
			k.report(place, "remove it from recount: the formula is that query, too", "counter %s has a formula, and another query under recount", sqltext.Excerpt(key))
			return
		}
	}
	if spec.Spec.Recount == nil {
		spec.Spec.Recount = map[string]string{}
	}
	spec.Spec.Recount[key] = f.Query()
}
