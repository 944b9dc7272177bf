package config

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// reader reads settings node by node, of a file, or one for each parameter of a DSN: so every
// setting keeps its place and all mistakes are found.
type reader struct {
	place    func(*yaml.Node) string
	mistakes []error
}

// setting is one that a mapping may have. Its read stores the value, or reports what is
// wrong with it and returns false.
type setting struct {
	key, name string // in a file; in Places
	read      func(*yaml.Node) bool
}

// global are the settings that files and DSNs have alike, with the one for rollups.
func (r *reader) global(c *Settings, rollup func(*yaml.Node) bool) []setting {
	return []setting{
		{"slots", "Slots", r.number(&c.Slots, false, "slots", remedySlots)},
		{"slot_range", "SlotRange", r.text(&c.SlotRange)},
		{"create_slots", "CreateSlots", r.boolean(&c.CreateSlots, true)},
		{"group_commit", "GroupCommit", r.boolean(&c.NoGroupCommit, false)},
		{"read_own", "ReadOwn", r.text(&c.ReadOwn)},
		{"rollup", "Rollup", rollup},
		{"reserve", "Reserve", r.reserved(&c.Reserve)},
	}
}

// mistake is one in a place.
func mistake(place, remedy, problem string, args ...any) error {
	return &catalog.ConfigError{Place: place, Problem: fmt.Sprintf(problem, args...), Remedy: remedy}
}

func (r *reader) report(n *yaml.Node, remedy, problem string, args ...any) bool {
	r.mistakes = append(r.mistakes, mistake(r.place(n), remedy, problem, args...))
	return false
}

// number reads how many of something there are to be. 0 means the default only in Go: it is a mistake,
// unless there may be none.
func (r *reader) number(to *int, none bool, of, remedy string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		var v int
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || n.Decode(&v) != nil || v == 0 && !none { // by tag, as the decoder would truncate 1.5
			return r.report(n, remedy, "%s is not a possible number of %s", nodeText(n), of)
		}
		*to = v
		return true
	}
}

// reserved reads a number of reserved rows, or none.
func (r *reader) reserved(to *int) func(*yaml.Node) bool {
	return r.number(to, true, "reserved rows", remedyReserve)
}

// boolean reads whether something is to be, which it says by yes.
func (r *reader) boolean(to *bool, yes bool) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		value, ok := readBool(n.Value)
		if n.Kind != yaml.ScalarNode || !ok {
			return r.report(n, "use true or false", "%s is not a boolean", nodeText(n))
		}
		*to = value == yes
		return true
	}
}

// readBool reads a boolean as go-sql-driver does in a DSN
// (https://github.com/go-sql-driver/mysql/blob/v1.10.1/utils.go#L92).
func readBool(s string) (value, ok bool) {
	switch s {
	case "1", "true", "TRUE", "True":
		return true, true
	case "0", "false", "FALSE", "False":
		return false, true
	}
	return false, false
}

// interval reads a length of time, which is not 0, in one of the ways to write it.
func (r *reader) interval(to *time.Duration, parse func(string) (time.Duration, error), remedy string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		d, err := parse(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || d == 0 {
			return r.report(n, remedy, "%s is not an interval", nodeText(n))
		}
		*to = d
		return true
	}
}

// every reads the interval of rollups, "30s" or "never".
func (r *reader) every(c *Settings) func(*yaml.Node) bool {
	return r.interval(&c.Rollup, func(s string) (time.Duration, error) {
		if s == "never" {
			return Never, nil
		}
		return time.ParseDuration(s)
	}, remedyRollup)
}

// text reads a name. One that looks like another type (a column named 1) is
// taken as it is written.
func (r *reader) text(to *string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		if n.Kind != yaml.ScalarNode || isNull(n) || n.Value == "" {
			return r.report(n, "write one, or leave the setting out", "%s is not a name", nodeText(n))
		}
		*to = n.Value
		return true
	}
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
