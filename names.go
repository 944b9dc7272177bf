package countermysql

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// names finds any of many names in a text. Looking for one after the other
// would cost a process that lists a thousand tables more than parsing.
type names struct {
	sorted []string  // lower case; none begins with another, which would be found first
	begins [256]bool // by first byte
}

func newNames(all map[string]bool) *names {
	n := &names{}
	for _, name := range sortedKeys(all) {
		if last := len(n.sorted) - 1; last < 0 || !strings.HasPrefix(name, n.sorted[last]) {
			n.sorted = append(n.sorted, name)
			n.begins[name[0]] = true
		}
	}
	return n
}

// in reports whether the text, in lower case, holds one of the names.
func (n *names) in(text string) bool {
	for i := range len(text) {
		if !n.begins[text[i]] {
			continue
		}
		rest := text[i:]
		// Of names of which none begins with another, only the last that is not
		// behind the text can be its beginning.
		after := sort.Search(len(n.sorted), func(at int) bool { return n.sorted[at] > rest })
		if after > 0 && strings.HasPrefix(rest, n.sorted[after-1]) {
			return true
		}
	}
	return false
}

// quotings is a name as it may stand in a text, in lower case: quoted by
// backquotes, by double quotes, or not at all.
func quotings(name string) []string {
	name = strings.ToLower(name)
	return slices.Compact([]string{name, strings.ReplaceAll(name, "`", "``"), strings.ReplaceAll(name, `"`, `""`)})
}

// sortedKeys returns a map's keys in order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), strings.Compare)
}
