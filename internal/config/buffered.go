package config

import (
	"cmp"
	"fmt"
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
func (k *checker) buffered(spec *checkedSpec, t *Table, in string) {
	if t.Buffered == nil {
		return
	}
	spec.Buffered = catalog.Buffered{Every: cmp.Or(t.Buffered.Every, defaultBufferedEvery), Keys: cmp.Or(t.Buffered.Keys, defaultBufferedKeys)}
	if every := spec.Buffered.Every; every < minEvery || every > maxEvery {
		k.report(cmp.Or(t.At.bufferedEvery, in+"Buffered.Every"), remedyEvery, "%s is not a possible interval of flushes", every)
	}
	if keys := spec.Buffered.Keys; keys < 1 || keys > maxKeys {
		k.report(cmp.Or(t.At.bufferedKeys, in+"Buffered.Keys"), remedyKeys, "%d is not a possible number of keys", keys)
	}
	for i, text := range t.Buffered.Counters {
		place := cmp.Or(nth(t.At.bufferedCounters, i), fmt.Sprintf("%sBuffered.Counters[%d]", in, i))
		switch name, ok := k.column(text, place); {
		case !ok:
		case !hasColumn(spec.Counters, name):
			k.report(place, "list it among the counters, or remove it here", "%s, which is to be buffered, is not a counter of table %s", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		case hasColumn(spec.Buffered.Counters, name):
			k.report(place, "list it once", "buffered counter %s of table %s is listed twice", sqltext.Excerpt(name), sqltext.Excerpt(t.Table))
		default:
			spec.Buffered.Counters = append(spec.Buffered.Counters, name)
		}
	}
	for _, name := range spec.Counters {
		if place := cmp.Or(t.At.derived, in+"Derived"); spec.Derived[strings.ToLower(name)] != nil && spec.Buffered.Takes(name) {
			k.report(place, "list the counters that are buffered, as buffered: {counters: [views]}, or remove buffered or the formula", "table %s is buffered, and counter %s derived", sqltext.Excerpt(t.Table), sqltext.Excerpt(name))
		}
	}
}

// buffered reads {every: 1s, keys: 100000, counters: [views]}.
func (f *yamlFile) buffered(t *Table) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		t.Buffered = &catalog.Buffered{}
		return f.mapping(n, []yamlKey{
			{"every", f.interval(&t.Buffered.Every, &t.At.bufferedEvery, time.ParseDuration, remedyEvery)},
			{"keys", f.number(&t.Buffered.Keys, &t.At.bufferedKeys, false, "keys", remedyKeys)},
			{"counters", func(n *yaml.Node) bool {
				if isNull(n) || n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
					return f.report(n, "list those that may lose what waits, or leave counters out for all", "no counter is to be buffered")
				}
				return f.names(&t.Buffered.Counters, &t.At.bufferedCounters)(n)
			}},
		})
	}
}
