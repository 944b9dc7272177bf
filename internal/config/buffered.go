package config

import (
	"cmp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// What a buffer may be: more often, it would do no better than the group commit; and who
// loses more than an hour would not call it that.
const (
	minEvery = 10 * time.Millisecond
	maxEvery = time.Hour
	maxKeys  = 10_000_000
)

// buffered checks how increments wait in memory.
func (s *checked) buffered() {
	b := s.table.Buffered
	if b == nil {
		return
	}
	s.Buffered = catalog.Buffered{Every: cmp.Or(b.Every, defaultBufferedEvery), Keys: cmp.Or(b.Keys, defaultBufferedKeys)}
	if every := s.Buffered.Every; every < minEvery || every > maxEvery {
		s.report(s.place("Buffered.Every"), remedyEvery, "%s is not a possible interval of flushes", every)
	}
	if keys := s.Buffered.Keys; keys < 1 || keys > maxKeys {
		s.report(s.place("Buffered.Keys"), remedyKeys, "%d is not a possible number of keys", keys)
	}
	s.Buffered.Counters = s.columns("Buffered.Counters", b.Counters, "buffered counter", func(name string) (remedy, problem string) {
		if !hasColumn(s.Counters, name) {
			return "list it among the counters, or remove it here", "%s, which is to be buffered, is not a counter of table %s"
		}
		return "", ""
	})
	for _, name := range s.Counters {
		if s.Derived[strings.ToLower(name)] != nil && s.Buffered.Takes(name) {
			s.report(s.place("Derived"), "list the counters that are buffered, as buffered: {counters: [views]}, or remove buffered or the formula", "table %s is buffered, and counter %s derived", sqltext.Excerpt(s.table.Table), sqltext.Excerpt(name))
		}
	}
}

// buffered reads {every: 1s, keys: 100000, counters: [views]}.
func (r *reader) buffered(t *Table) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		t.Buffered = &catalog.Buffered{}
		return r.mapping(n, t.At, []setting{
			{"every", "Buffered.Every", r.interval(&t.Buffered.Every, time.ParseDuration, remedyEvery)},
			{"keys", "Buffered.Keys", r.number(&t.Buffered.Keys, false, "keys", remedyKeys)},
			{"counters", "Buffered.Counters", func(n *yaml.Node) bool {
				if isNull(n) || n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
					return r.report(n, "list those that may lose what waits, or leave counters out for all", "no counter is to be buffered")
				}
				return r.names(&t.Buffered.Counters, t.At, "Buffered.Counters")(n)
			}},
		})
	}
}
