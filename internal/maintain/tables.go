package maintain

import (
	"errors"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// Named lists the tables of the names, or all.
func Named(s *catalog.Schema, names []string, defaultDB string) ([]*catalog.Table, error) {
	if len(names) == 0 {
		return s.All(), nil
	}
	var tables []*catalog.Table
	for _, name := range names {
		parts, err := sqltext.SplitName(name)
		if err == nil && len(parts) == 1 {
			parts = []string{defaultDB, parts[0]}
		}
		var t *catalog.Table
		if err == nil && len(parts) == 2 {
			t = s.Lookup(parts[0], parts[1], "")
		}
		if t == nil {
			var known []string
			for _, t := range s.All() {
				known = append(known, t.String())
			}
			return nil, &catalog.ConfigError{Place: "table " + sqltext.Excerpt(name), Problem: "there is no such table with counters", Remedy: "there are " + strings.Join(known, ", ")}
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// leftOut are the listed tables and columns that do not exist: mistakes, perhaps.
func leftOut(s *catalog.Schema) []Finding {
	var all []Finding
	for _, name := range s.Unknown {
		all = append(all, Finding{true, name, "it does not exist, or the user may not see it", "create it, correct the list of counters, or grant SELECT on it", ""})
	}
	for _, name := range s.Absent {
		dot := strings.LastIndexByte(name, '.')
		all = append(all, Finding{true, name[:dot], "it has no column " + name[dot+1:], "add it, or correct the list of counters", ""})
	}
	return all
}

// complete is an error where something listed does not exist: who works on all that is
// listed is told what is left out.
func complete(s *catalog.Schema) error {
	var errs []error
	for _, f := range leftOut(s) {
		errs = append(errs, &catalog.ConfigError{Place: "table " + f.Table, Problem: f.Problem, Remedy: f.Remedy})
	}
	return errors.Join(errs...)
}
