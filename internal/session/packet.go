package session

import (
	"iter"

	"github.com/countermysql/countermysql/internal/catalog"
)

// Several is how many of some keys one statement may name: as many as it carries, or
// fewer where the text for them, which has each once or more, might not fit into a packet.
func (s *Settings) Several(t *catalog.Table, carries int, keys iter.Seq[catalog.Key]) int {
	longest := 0
	for k := range keys {
		bytes := 0
		for _, v := range k {
			bytes += 2*len(v) + 64 // a text is sent in hexadecimal digits
		}
		longest = max(longest, bytes)
	}
	each := (longest + 128) * (2 + len(t.Counters) + len(t.Touch))
	return max(1, min(carries, s.Packet/2/each))
}

// EachOf are the keys of what has one.
func EachOf[T any](all []T, of func(T) catalog.Key) iter.Seq[catalog.Key] {
	return func(yield func(catalog.Key) bool) {
		for _, v := range all {
			if !yield(of(v)) {
				return
			}
		}
	}
}
