package config

import (
	"cmp"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/countermysql/countermysql/internal/catalog"
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
	spec.Buffered = catalog.Buffered{Every: cmp.Or(t.Buffered.Every, DefaultBufferedEvery), Keys: cmp.Or(t.Buffered.Keys, DefaultBufferedKeys)}
	if every := spec.Buffered.Every; every < minEvery || every > maxEvery {
		k.report(cmp.Or(t.At.bufferedEvery, in+"Buffered.Every"), remedyEvery, "%s is not a possible interval of flushes", every)
	}
	if keys := spec.Buffered.Keys; keys < 1 || keys > maxKeys {
		k.report(cmp.Or(t.At.bufferedKeys, in+"Buffered.Keys"), remedyKeys, "%d is not a possible number of keys", keys)
	}
}

// buffered reads {every: 1s, keys: 100000}.
func (f *yamlFile) buffered(t *Table) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		t.Buffered, t.At.buffered = &catalog.Buffered{}, f.place(n)
		return f.mapping(n, []yamlKey{
			{"every", func(n *yaml.Node) bool {
				d, err := time.ParseDuration(n.Value)
				if n.Kind != yaml.ScalarNode || err != nil || d == 0 {
					return f.report(n, remedyEvery, "%s is not an interval", nodeText(n))
				}
				t.Buffered.Every, t.At.bufferedEvery = d, f.place(n)
				return true
			}},
			{"keys", func(n *yaml.Node) bool {
				if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&t.Buffered.Keys) != nil || t.Buffered.Keys == 0 {
					t.Buffered.Keys = 0
					return f.report(n, remedyKeys, "%s is not a possible number of keys", nodeText(n))
				}
				t.At.bufferedKeys = f.place(n)
				return true
			}},
		})
	}
}
