package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// yamlFile reads one file, node by node: so every setting keeps its line and
// all mistakes are found.
type yamlFile struct {
	name     string
	mistakes []error
}

// yamlKey is a key of a mapping. Its read stores the value, or reports what is
// wrong with it and returns false.
type yamlKey struct {
	name string
	read func(*yaml.Node) bool
}

// readYAML reads the text of a file:
//
//	slots: 16
//	slot_range: auto
//	create_slots: true
//	read_own: latest
//	rollup: {every: 30s}
//	reserve: 64
//	tables:
//	  - table: post
//	    counters: [likes, views]
//	    touch: [updated_at]
//	    read_own: snapshot
//	    slots: 64
//	    slots_table: post_slots
//	    recount:
//	      likes: SELECT post_id, COUNT(*) FROM post_like GROUP BY post_id
//	    derived:
//	      comments: SELECT post_id, COUNT(*) FROM comment GROUP BY post_id
//	    buffered: {every: 1s, keys: 100000}
//	    history: {every: 1h, keep: 90d, table: post_history}
//	  - table: item
//	    counters: [stock]
//	    reserve: {stock: 64}
//
// What could be read is returned beside the mistakes, for more to be found.
func readYAML(name string, text []byte) (*Settings, []error) {
	f := &yamlFile{name: name}
	c := &Settings{}
	var doc, next yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF), err == nil && isNull(doc.Content[0]): // empty, or nothing but comments
		return c, nil
	case err != nil:
		f.syntax(err)
		return c, f.mistakes
	}
	f.mapping(doc.Content[0], []yamlKey{
		{"slots", f.number(&c.Slots, &c.At.slots, false, "slots", remedySlots)},
		{"slot_range", yamlText(f, &c.SlotRange, &c.At.slotRange)},
		{"create_slots", f.boolean(&c.CreateSlots, &c.At.createSlots)},
		{"group_commit", not(f.boolean(&c.NoGroupCommit, &c.At.groupCommit), &c.NoGroupCommit)},
		{"read_own", yamlText(f, &c.ReadOwn, &c.At.readOwn)},
		{"rollup", func(n *yaml.Node) bool {
			return f.mapping(n, []yamlKey{{"every", f.interval(&c.Rollup, &c.At.rollup, parseInterval, remedyRollup)}})
		}},
		{"reserve", f.reserved(&c.Reserve, &c.At.reserve)},
		{"tables", f.tables(&c.Tables)},
	})
	switch err := decoder.Decode(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		f.syntax(err)
	default:
		f.report(&next, "put all settings in one document", "a second document begins")
	}
	return c, f.mistakes
}

func (f *yamlFile) place(n *yaml.Node) string { return fmt.Sprintf("%s:%d", f.name, n.Line) }

func (f *yamlFile) report(n *yaml.Node, remedy, problem string, args ...any) bool {
	f.mistakes = append(f.mistakes, &catalog.ConfigError{Place: f.place(n), Problem: fmt.Sprintf(problem, args...), Remedy: remedy})
	return false
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// syntax reports an error of the YAML parser, which ends the reading.
func (f *yamlFile) syntax(err error) {
	place, problem := f.name, err.Error()
	if m := yamlLine.FindStringSubmatch(problem); m != nil {
		place, problem = place+":"+m[1], problem[len(m[0]):]
	}
	f.mistakes = append(f.mistakes, &catalog.ConfigError{
		Place:   place,
		Problem: "not YAML: " + strings.TrimPrefix(problem, "yaml: "),
		Remedy:  "correct the syntax on this line or the one before it",
	})
}

// mapping reads a mapping strictly: a setting that nothing reads would be one
// that silently has no effect.
func (f *yamlFile) mapping(n *yaml.Node, keys []yamlKey) bool {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	known := strings.Join(names, ", ")
	n = followAlias(n)
	if n.Kind != yaml.MappingNode {
		return f.report(n, "write key: value, with the keys "+known, "%s is not a mapping of settings", nodeText(n))
	}
	ok := true
	met := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], followAlias(n.Content[i+1])
		k := slices.Index(names, key.Value)
		switch {
		case k < 0 || key.Kind != yaml.ScalarNode:
			ok = f.report(key, "there are "+known, "there is no setting %s", nodeText(key))
		case met[key.Value]:
			ok = f.report(key, "keep one of them", "%s is set twice", key.Value)
		default:
			met[key.Value] = true
			ok = keys[k].read(value) && ok
		}
	}
	return ok
}

// number reads how many of something there are to be. 0 means the default only in Go: it is a mistake,
// unless there may be none.
func (f *yamlFile) number(to *int, at *string, none bool, of, remedy string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(to) != nil || *to == 0 && !none { // by tag, as the decoder would truncate 1.5
			*to = 0
			return f.report(n, remedy, "%s is not a possible number of %s", nodeText(n), of)
		}
		*at = f.place(n)
		return true
	}
}

func (f *yamlFile) boolean(to *bool, at *string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		value, ok := readBool(n.Value)
		if n.Kind != yaml.ScalarNode || !ok {
			return f.report(n, remedyBool, "%s is not a boolean", nodeText(n))
		}
		*to, *at = value, f.place(n)
		return true
	}
}

// queries reads a mapping of names to SQL.
func (f *yamlFile) queries(to *map[string]string, at *string) func(*yaml.Node) bool {
	text := func(to, at *string) func(*yaml.Node) bool { return yamlText(f, to, at) }
	return yamlByName(f, to, at, "queries", "SELECT …", text)
}

// yamlByName reads a mapping of names to values.
func yamlByName[V any](f *yamlFile, to *map[string]V, at *string, what, example string, read func(to *V, at *string) func(*yaml.Node) bool) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		if n.Kind != yaml.MappingNode {
			return f.report(n, "write counter: "+example, "%s is not a mapping of counters to %s", nodeText(n), what)
		}
		*to, *at = map[string]V{}, f.place(n)
		ok := true
		for i := 0; i+1 < len(n.Content); i += 2 {
			var name, place string
			var value V
			if !yamlText(f, &name, &place)(followAlias(n.Content[i])) || !read(&value, &place)(followAlias(n.Content[i+1])) {
				ok = false
				continue
			}
			if _, twice := (*to)[name]; twice {
				ok = f.report(n.Content[i], "keep one of them", "%s is set twice", sqltext.Excerpt(name))
			}
			(*to)[name] = value
		}
		return ok
	}
}

// interval reads a length of time, which is not 0, in one of the ways to write it.
func (f *yamlFile) interval(to *time.Duration, at *string, parse func(string) (time.Duration, error), remedy string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		d, err := parse(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || d == 0 {
			return f.report(n, remedy, "%s is not an interval", nodeText(n))
		}
		*to, *at = d, f.place(n)
		return true
	}
}

// not turns round what read has set.
func not(read func(*yaml.Node) bool, set *bool) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		ok := read(n)
		*set = ok && !*set
		return ok
	}
}

// yamlText reads a name. One that looks like another type (a column named 1) is
// taken as it is written.
func yamlText[S ~string](f *yamlFile, to *S, at *string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		if n.Kind != yaml.ScalarNode || isNull(n) || n.Value == "" {
			return f.report(n, "write one, or leave the setting out", "%s is not a name", nodeText(n))
		}
		*to, *at = S(n.Value), f.place(n)
		return true
	}
}

func (f *yamlFile) names(to, at *[]string) func(*yaml.Node) bool {
	return f.list("names", "write [name, name]", func(item *yaml.Node) bool {
		var name, place string
		if !yamlText(f, &name, &place)(followAlias(item)) {
			return false
		}
		*to, *at = append(*to, name), append(*at, place)
		return true
	})
}

// list reads a list, or nothing, in this form.
func (f *yamlFile) list(of, form string, read func(item *yaml.Node) bool) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		if isNull(n) {
			return true
		}
		if n.Kind != yaml.SequenceNode {
			return f.report(n, form, "%s is not a list of %s", nodeText(n), of)
		}
		ok := true
		for _, item := range n.Content {
			ok = read(item) && ok
		}
		return ok
	}
}

func (f *yamlFile) tables(to *[]Table) func(*yaml.Node) bool {
	return f.list("tables", "write a list, each item beginning with - table:", func(item *yaml.Node) bool {
		t := Table{At: TablePlaces{table: f.place(item)}}
		t.At.broken = !f.mapping(item, []yamlKey{
			{"table", yamlText(f, &t.Table, &t.At.table)},
			{"counters", f.names(&t.Counters, &t.At.counters)},
			{"touch", f.names(&t.Touch, &t.At.touch)},
			{"read_own", yamlText(f, &t.ReadOwn, &t.At.readOwn)},
			{"slots", f.number(&t.Slots, &t.At.slots, false, "slots", remedySlots)},
			{"slots_table", yamlText(f, &t.SlotsTable, &t.At.slotsTable)},
			{"recount", f.queries(&t.Recount, &t.At.recount)},
			{"derived", f.queries(&t.Derived, &t.At.derived)},
			{"buffered", f.buffered(&t)},
			{"history", f.history(&t)},
			{"reserve", yamlByName(f, &t.Reserve, &t.At.reserve, "numbers of rows", "64", f.reserved)},
		})
		*to = append(*to, t)
		return !t.At.broken
	})
}

// followAlias returns what an alias stands for. An alias of an alias does not exist.
func followAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// nodeText names a node in an error.
func nodeText(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case isNull(n):
		return "nothing"
	}
	return sqltext.Excerpt(n.Value)
}
