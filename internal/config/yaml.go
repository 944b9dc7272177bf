package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/countermysql/countermysql/internal/sqltext"
)

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
	c := &Settings{At: Places{}}
	r := &reader{place: func(n *yaml.Node) string { return fmt.Sprintf("%s:%d", name, n.Line) }}
	var doc, next yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF), err == nil && isNull(doc.Content[0]): // empty, or nothing but comments
		return c, nil
	case err != nil:
		return c, []error{notYAML(name, err)}
	}
	rollup := func(n *yaml.Node) bool {
		return r.mapping(n, c.At, []setting{{"every", "Rollup", r.every(c)}})
	}
	r.mapping(doc.Content[0], c.At, append(r.global(c, rollup), setting{"tables", "Tables", r.tables(&c.Tables)}))
	switch err := decoder.Decode(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		r.mistakes = append(r.mistakes, notYAML(name, err))
	default:
		r.report(&next, "put all settings in one document", "a second document begins")
	}
	return c, r.mistakes
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// notYAML is an error of the YAML parser, which ends the reading.
func notYAML(place string, err error) error {
	problem := err.Error()
	if m := yamlLine.FindStringSubmatch(problem); m != nil {
		place, problem = place+":"+m[1], problem[len(m[0]):]
	}
	return mistake(place, "correct the syntax on this line or the one before it", "not YAML: %s", strings.TrimPrefix(problem, "yaml: "))
}

// mapping reads a mapping strictly: a setting that nothing reads would be one
// that silently has no effect.
func (r *reader) mapping(n *yaml.Node, at Places, settings []setting) bool {
	keys := make([]string, len(settings))
	for i, s := range settings {
		keys[i] = s.key
	}
	known := strings.Join(keys, ", ")
	n = followAlias(n)
	if n.Kind != yaml.MappingNode {
		return r.report(n, "write key: value, with the keys "+known, "%s is not a mapping of settings", nodeText(n))
	}
	ok := true
	met := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], followAlias(n.Content[i+1])
		k := slices.Index(keys, key.Value)
		switch {
		case k < 0 || key.Kind != yaml.ScalarNode:
			ok = r.report(key, "there are "+known, "there is no setting %s", nodeText(key))
		case met[key.Value]:
			ok = r.report(key, "keep one of them", "%s is set twice", key.Value)
		default:
			met[key.Value], at[settings[k].name] = true, r.place(value)
			ok = settings[k].read(value) && ok
		}
	}
	return ok
}

// byName reads a mapping of names to values.
func byName[V any](r *reader, to *map[string]V, what, example string, read func(to *V) func(*yaml.Node) bool) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		if n.Kind != yaml.MappingNode {
			return r.report(n, "write counter: "+example, "%s is not a mapping of counters to %s", nodeText(n), what)
		}
		*to = map[string]V{}
		ok := true
		for i := 0; i+1 < len(n.Content); i += 2 {
			var name string
			var value V
			if !r.text(&name)(followAlias(n.Content[i])) || !read(&value)(followAlias(n.Content[i+1])) {
				ok = false
				continue
			}
			if _, twice := (*to)[name]; twice {
				ok = r.report(n.Content[i], "keep one of them", "%s is set twice", sqltext.Excerpt(name))
			}
			(*to)[name] = value
		}
		return ok
	}
}

// names reads a list of names, each of which has its place.
func (r *reader) names(to *[]string, at Places, list string) func(*yaml.Node) bool {
	return r.list("names", "write [name, name]", func(item *yaml.Node) bool {
		var name string
		if item = followAlias(item); !r.text(&name)(item) {
			return false
		}
		*to, at[list+" "+name] = append(*to, name), r.place(item)
		return true
	})
}

// list reads a list, or nothing, in this form.
func (r *reader) list(of, form string, read func(item *yaml.Node) bool) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		if isNull(n) {
			return true
		}
		if n.Kind != yaml.SequenceNode {
			return r.report(n, form, "%s is not a list of %s", nodeText(n), of)
		}
		ok := true
		for _, item := range n.Content {
			ok = read(item) && ok
		}
		return ok
	}
}

func (r *reader) tables(to *[]Table) func(*yaml.Node) bool {
	return r.list("tables", "write a list, each item beginning with - table:", func(item *yaml.Node) bool {
		t := Table{At: Places{"Table": r.place(item)}}
		t.broken = !r.mapping(item, t.At, []setting{
			{"table", "Table", r.text(&t.Table)},
			{"counters", "Counters", r.names(&t.Counters, t.At, "Counters")},
			{"touch", "Touch", r.names(&t.Touch, t.At, "Touch")},
			{"read_own", "ReadOwn", r.text(&t.ReadOwn)},
			{"slots", "Slots", r.number(&t.Slots, false, "slots", remedySlots)},
			{"slots_table", "SlotsTable", r.text(&t.SlotsTable)},
			{"recount", "Recount", byName(r, &t.Recount, "queries", "SELECT …", r.text)},
			{"derived", "Derived", byName(r, &t.Derived, "queries", "SELECT …", r.text)},
			{"buffered", "Buffered", r.buffered(&t)},
			{"history", "History", r.history(&t)},
			{"reserve", "Reserve", byName(r, &t.Reserve, "numbers of rows", "64", r.reserved)},
		})
		*to = append(*to, t)
		return !t.broken
	})
}

// followAlias returns what an alias stands for. An alias of an alias does not exist.
func followAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
