package config

import (
	"cmp"
	"strings"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

const remedyReserve = "use 1 to 512, as 64, or 0 for none"

// reservesNothing finds a reserve beside rollups that never run. It is for what is written: who
// only looks at tables turns the rollups off in Go.
func (c *Settings) reservesNothing() error {
	place, some := c.At["Reserve"], c.Reserve > 0
	for _, t := range c.Tables {
		for _, n := range t.Reserve {
			if n > 0 {
				place, some = cmp.Or(place, t.At["Reserve"]), true
			}
		}
	}
	if c.Rollup != Never || !some {
		return nil
	}
	return mistake(cmp.Or(place, "Config.Reserve"), "roll up in the background, or take the reserve from the configuration", "reserved rows are filled, and given back, in the background, where nothing goes on")
}

// reserve checks how many reserved rows counters have.
func (s *checked) reserve(all int) {
	s.Reserve.All = all
	byCounter(s, "Reserve", s.table.Reserve, names{"reserve", "reserves", "take it from the reserve"}, func(name string, n int, place string) {
		n = s.rows(n, place)
		if n > 0 && (s.table.History != nil || len(s.table.Derived) > 0) {
			s.report(place, "take the reserve from its configuration, or that", "table %s has a reserve, and a history or derived counters, whose slots have numbers of their own", sqltext.Excerpt(s.table.Table))
			return
		}
		put(&s.Reserve.Of, strings.ToLower(name), n)
	})
}

// rows checks a number of reserved rows.
func (k *checker) rows(n int, place string) int {
	if n < 0 || n > catalog.MaxReserve {
		k.report(place, remedyReserve, "%d is not a possible number of reserved rows", n)
		return 0
	}
	return n
}
