package sqltext

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// NameSet finds any of many names in a text. Looking for one after the other
// would cost a process that lists a thousand tables more than parsing.
type NameSet struct {
	sorted []string  // lower case; none begins with another, which would be found first
	begins [256]bool // by first byte
}

func NewNameSet(all map[string]bool) *NameSet {
	n := &NameSet{}
	for _, name := range SortedKeys(all) {
		if last := len(n.sorted) - 1; last < 0 || !strings.HasPrefix(name, n.sorted[last]) {
			n.sorted = append(n.sorted, name)
			n.begins[name[0]] = true
		}
	}
	return n
}

// In reports whether the text, in lower case, holds one of the names.
func (n *NameSet) In(text string) bool {
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

// Quotings is a name as it may stand in a text, in lower case: quoted by
// backquotes, by double quotes, or not at all.
func Quotings(name string) []string {
	name = strings.ToLower(name)
	return slices.Compact([]string{name, strings.ReplaceAll(name, "`", "``"), strings.ReplaceAll(name, `"`, `""`)})
}

// SortedKeys returns a map's keys in order.
func SortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), strings.Compare)
}

func WordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// MentionsWord reports whether name stands in the SQL text as an identifier.
func MentionsWord(sql, name string) bool { return Identifiers(sql)[strings.ToLower(name)] }

// Identifiers are the words of an SQL text that may be names, in lower case. Whether
// a backslash in its strings means something depends on the session that wrote it.
func Identifiers(sql string) map[string]bool {
	toks := Tokenize(sql, Mode{})
	if strings.Contains(sql, `\`) {
		toks = append(toks, Tokenize(sql, Mode{NoBackslashEscapes: true})...)
	}
	words := map[string]bool{}
	for _, t := range toks {
		if t.Ident() {
			words[strings.ToLower(t.Name)] = true
		}
		if name, ok := t.DoubleQuoted(sql); ok {
			words[strings.ToLower(name)] = true
		}
		if t.Kind == Versioned && len(sql) > t.End-t.Start {
			maps.Copy(words, Identifiers(sql[t.Start+3:t.End]))
		}
	}
	return words
}
