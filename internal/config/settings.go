package config

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
)

// DefaultSlots is the number of slots of a counter for which nothing else is configured.
const DefaultSlots = 16

// Never is the interval of rollups of who wants none in the background.
const Never time.Duration = math.MinInt64

// What buffers are unless they say otherwise.
const (
	defaultBufferedEvery = time.Second
	defaultBufferedKeys  = 100_000
)

// defaultHistoryEvery is the interval of a history that says no other.
const defaultHistoryEvery = time.Hour

// Ways to read one's own increments inside a transaction.
const (
	Latest   = "latest"
	Snapshot = "snapshot"
)

// Settings are what is configured, in a Config of the root's, a file or a DSN. What they
// mean, the root's Config says.
type Settings struct {
	Slots         int
	SlotRange     string
	CreateSlots   bool
	NoGroupCommit bool
	ReadOwn       string
	Rollup        time.Duration
	Reserve       int
	Tables        []Table

	At Places
}

// Table is one table and its counters.
type Table struct {
	Table           string
	Counters, Touch []string
	ReadOwn         string
	Slots           int
	SlotsTable      string
	Recount         map[string]string
	Derived         map[string]string
	Buffered        *catalog.Buffered // nil: not; what is 0 in it means the default
	History         *catalog.History  // the same
	Reserve         map[string]int

	At Places

	// broken is set where a mistake has been reported already: what follows
	// from it is not worth a second report.
	broken bool
}

// Places are where settings were written, for error messages, by their names in Go, as "Slots" and
// "History.Every", of lists also by what stands there, as "Counters likes". What is not there was
// set in Go.
type Places map[string]string

// under are the places with others over them.
func (p Places) under(over Places) Places {
	switch {
	case len(over) == 0:
		return p
	case p == nil:
		return over
	}
	maps.Copy(p, over)
	return p
}

// Clone copies all that can be changed from outside.
func (c *Settings) Clone() *Settings {
	if c == nil {
		return nil
	}
	d := *c
	d.Tables, d.At = slices.Clone(c.Tables), maps.Clone(c.At)
	for i := range d.Tables {
		t := &d.Tables[i]
		t.Counters, t.Touch, t.At = slices.Clone(t.Counters), slices.Clone(t.Touch), maps.Clone(t.At)
		t.Recount, t.Derived, t.Reserve = maps.Clone(t.Recount), maps.Clone(t.Derived), maps.Clone(t.Reserve)
		if t.Buffered != nil {
			own := *t.Buffered
			own.Counters = slices.Clone(own.Counters)
			t.Buffered = &own
		}
		if t.History != nil {
			own := *t.History
			t.History = &own
		}
	}
	return &d
}

// merge returns c overridden and extended by other settings, sharing nothing with either.
// The same table in both is merged too, where names without a database are of db; what
// either has twice stays there twice, to be reported by check.
func (c *Settings) merge(over *Settings, db string) *Settings {
	if c == nil || over == nil {
		return cmp.Or(c, over).Clone()
	}
	m, over := c.Clone(), over.Clone()
	override(&m.Slots, over.Slots, over.At["Slots"])
	override(&m.SlotRange, over.SlotRange, over.At["SlotRange"])
	override(&m.CreateSlots, over.CreateSlots, over.At["CreateSlots"])
	override(&m.NoGroupCommit, over.NoGroupCommit, over.At["GroupCommit"])
	override(&m.ReadOwn, over.ReadOwn, over.At["ReadOwn"])
	override(&m.Rollup, over.Rollup, over.At["Rollup"])
	override(&m.Reserve, over.Reserve, over.At["Reserve"])
	m.At = m.At.under(over.At)
	mine := map[[2]string]int{} // tables that wait for their other half
	for i, t := range slices.Backward(m.Tables) {
		mine[t.key(db)] = i
	}
	for _, t := range over.Tables {
		if i, ok := mine[t.key(db)]; ok {
			m.Tables[i].extend(t)
			delete(mine, t.key(db))
		} else {
			m.Tables = append(m.Tables, t)
		}
	}
	return m
}

// override sets what is set over it. Where it was written, false and 0 count, too.
func override[V comparable](to *V, over V, at string) {
	var unset V
	if over != unset || at != "" {
		*to = over
	}
}

// key is what makes two tables the same; a name that can't be read is itself.
func (t *Table) key(defaultDB string) [2]string {
	switch parts, _ := sqltext.SplitName(t.Table); len(parts) {
	case 1:
		return [2]string{defaultDB, parts[0]}
	case 2:
		return [2]string{parts[0], parts[1]}
	}
	return [2]string{"", t.Table}
}

func (t *Table) extend(over Table) {
	delete(over.At, "Table") // it is listed there already
	t.Counters, t.Touch = union(t.Counters, over.Counters), union(t.Touch, over.Touch)
	override(&t.ReadOwn, over.ReadOwn, over.At["ReadOwn"])
	override(&t.Slots, over.Slots, over.At["Slots"])
	override(&t.SlotsTable, over.SlotsTable, over.At["SlotsTable"])
	override(&t.Buffered, over.Buffered, "")
	override(&t.History, over.History, "")
	extendMap(&t.Recount, over.Recount, over.At, "Recount")
	extendMap(&t.Derived, over.Derived, over.At, "Derived")
	extendMap(&t.Reserve, over.Reserve, over.At, "Reserve")
	t.At = t.At.under(over.At)
	t.broken = t.broken || over.broken
}

// extendMap adds what is set by column; the place is that of the first.
func extendMap[V any](all *map[string]V, more map[string]V, at Places, setting string) {
	if *all == nil {
		*all = more
		return
	}
	maps.Copy(*all, more)
	delete(at, setting)
}

// union appends the names that are not there already. What is twice in one list stays so.
func union(names, more []string) []string {
	rest := slices.Clone(names)
	for _, name := range more {
		if i := slices.IndexFunc(rest, func(n string) bool { return sameColumn(n, name) }); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// sameColumn compares two columns as written, backquoted or not.
func sameColumn(a, b string) bool {
	x, errX := sqltext.SplitName(a)
	y, errY := sqltext.SplitName(b)
	return errX == nil && errY == nil && slices.EqualFunc(x, y, strings.EqualFold)
}
