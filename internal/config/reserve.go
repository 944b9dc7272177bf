package config

import (
	"cmp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

const remedyReserve = "use 1 to 512, as 64, or 0 for none"

// reservesNothing finds a reserve beside rollups that never run. It is for what is written: who
// only looks at tables turns the rollups off in Go.
func (c *Settings) reservesNothing() error {
	place, some := c.At.reserve, c.Reserve > 0
	for _, t := range c.Tables {
		for _, n := range t.Reserve {
			if n > 0 {
				place, some = cmp.Or(place, t.At.reserve), true
			}
		}
	}
	if c.Rollup != Never || !some {
		return nil
	}
	return &catalog.ConfigError{Place: cmp.Or(place, "Config.Reserve"), Problem: "reserved rows are filled, and given back, in the background, where nothing goes on",
		Remedy: "roll up in the background, or take the reserve from the configuration"}
}

// reserve checks how many reserved rows counters have.
func (k *checker) reserve(spec *checkedSpec, t *Table, all int, in string) {
	place := cmp.Or(t.At.reserve, in+"Reserve")
	spec.Reserve.All = all
	for _, text := range sqltext.SortedKeys(t.Reserve) {
		name, ok := k.column(text, place)
		n := k.rows(t.Reserve[text], place)
		key := strings.ToLower(name)
		_, twice := spec.Reserve.Of[key]
		switch {
		case !ok:
		case !hasColumn(spec.Counters, name):
			k.report(place, "list it among the counters, or take it from the reserve", "%s, which has a reserve, is not a counter of table %s", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		case twice:
			k.report(place, "keep one of them", "counter %s of table %s has two reserves", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		case n > 0 && (t.History != nil || len(t.Derived) > 0):
			k.report(place, "take the reserve from its configuration, or that", "table %s has a reserve, and a history or derived counters, whose slots have numbers of their own", sqltext.Excerpt(t.Table))
		default:
			if spec.Reserve.Of == nil {
				spec.Reserve.Of = map[string]int{}
			}
			spec.Reserve.Of[key] = n
		}
	}
}

// rows checks a number of reserved rows.
func (k *checker) rows(n int, place string) int {
	if n < 0 || n > catalog.MaxReserve {
		k.report(place, remedyReserve, "%d is not a possible number of reserved rows", n)
		return 0
	}
	return n
}

// reserved reads a number of reserved rows, or none.
func (f *yamlFile) reserved(to *int, at *string) func(*yaml.Node) bool {
	return f.number(to, at, true, "reserved rows", remedyReserve)
}
