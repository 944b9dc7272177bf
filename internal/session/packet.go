package session

import (
	"iter"
	"slices"

	"github.com/countermysql/countermysql/internal/catalog"
)

// Several is how many of all that has a key one statement may name: as many as it carries, or
// fewer where the text for their keys, which has each once or more, might not fit into a packet.
func Several[T catalog.Keyed](s *Settings, t *catalog.Table, carries int, all []T) int {
	longest := 0
	for _, one := range all {
		bytes := 0
		for _, v := range one.KeyOf() {
			bytes += 2*len(v) + 64 // a text is sent in hexadecimal digits
		}
		longest = max(longest, bytes)
	}
	each := (longest + 128) * (2 + len(t.Counters) + len(t.Touch))
	return max(1, min(carries, s.Packet/2/each))
}

// Batches are all, as Several go into one statement.
func Batches[T catalog.Keyed](s *Settings, t *catalog.Table, carries int, all []T) iter.Seq[[]T] {
	return slices.Chunk(all, Several(s, t, carries, all))
}
