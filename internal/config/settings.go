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

	At TablePlaces
}

// Places remember where settings were written, for error messages; "" means in Go.
type Places struct {
	slots, slotRange, createSlots, groupCommit, readOwn, rollup, reserve string
}

// TablePlaces are those of a table.
type TablePlaces struct {
	table, slots, readOwn, slotsTable string

	counters, touch, bufferedCounters []string // by index; may be shorter than the lists

	recount, derived, reserve string

	bufferedEvery, bufferedKeys                      string
	history, historyEvery, historyKeep, historyTable string

	// broken is set where a mistake has been reported already: what follows
	// from it is not worth a second report.
	broken bool
}

// Clone copies all that can be changed from outside.
func (c *Settings) Clone() *Settings {
	if c == nil {
		return nil
	}
	d := *c
	d.Tables = slices.Clone(c.Tables)
	for i := range d.Tables {
		t := &d.Tables[i]
		t.Counters, t.Touch = slices.Clone(t.Counters), slices.Clone(t.Touch)
		t.At.counters, t.At.touch = slices.Clone(t.At.counters), slices.Clone(t.At.touch)
		t.Recount, t.Derived, t.Reserve = maps.Clone(t.Recount), maps.Clone(t.Derived), maps.Clone(t.Reserve)
		if t.Buffered != nil {
			own := *t.Buffered
			own.Counters = slices.Clone(own.Counters)
			t.Buffered = &own
			t.At.bufferedCounters = slices.Clone(t.At.bufferedCounters)
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
	override(&m.Slots, &m.At.slots, over.Slots, over.At.slots)
	override(&m.SlotRange, &m.At.slotRange, over.SlotRange, over.At.slotRange)
	override(&m.CreateSlots, &m.At.createSlots, over.CreateSlots, over.At.createSlots)
	override(&m.NoGroupCommit, &m.At.groupCommit, over.NoGroupCommit, over.At.groupCommit)
	override(&m.ReadOwn, &m.At.readOwn, over.ReadOwn, over.At.readOwn)
	override(&m.Rollup, &m.At.rollup, over.Rollup, over.At.rollup)
	override(&m.Reserve, &m.At.reserve, over.Reserve, over.At.reserve)
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

// override sets what is set over it, with its place. Where it was written, false and 0 count, too.
func override[V comparable](to *V, at *string, over V, overAt string) {
	var unset V
	if over != unset || overAt != "" {
		*to, *at = over, overAt
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
	t.Counters, t.At.counters = union(t.Counters, t.At.counters, over.Counters, over.At.counters)
	t.Touch, t.At.touch = union(t.Touch, t.At.touch, over.Touch, over.At.touch)
	override(&t.ReadOwn, &t.At.readOwn, over.ReadOwn, over.At.readOwn)
	override(&t.Slots, &t.At.slots, over.Slots, over.At.slots)
	override(&t.SlotsTable, &t.At.slotsTable, over.SlotsTable, over.At.slotsTable)
	if over.Buffered != nil {
		t.Buffered, t.At.bufferedEvery, t.At.bufferedKeys, t.At.bufferedCounters = over.Buffered, over.At.bufferedEvery, over.At.bufferedKeys, over.At.bufferedCounters
	}
	if over.History != nil {
		t.History, t.At.history, t.At.historyEvery, t.At.historyKeep, t.At.historyTable = over.History, over.At.history, over.At.historyEvery, over.At.historyKeep, over.At.historyTable
	}
	extendMap(&t.Recount, &t.At.recount, over.Recount, over.At.recount)
	extendMap(&t.Derived, &t.At.derived, over.Derived, over.At.derived)
	extendMap(&t.Reserve, &t.At.reserve, over.Reserve, over.At.reserve)
	t.At.broken = t.At.broken || over.At.broken
}

// extendMap adds what is set by column; the place is that of the first.
func extendMap[V any](all *map[string]V, at *string, more map[string]V, moreAt string) {
	if *all == nil {
		*all, *at = more, moreAt
		return
	}
	maps.Copy(*all, more)
}

// union appends the names, with their places, that are not there already. What
// is twice in one list stays so.
func union(names, at, more, moreAt []string) (all, allAt []string) {
	rest := slices.Clone(names)
	all, allAt = names, append(at, make([]string, len(names))...)[:len(names)]
	for i, name := range more {
		if j := slices.IndexFunc(rest, func(n string) bool { return sameColumn(n, name) }); j >= 0 {
			rest = slices.Delete(rest, j, j+1)
			continue
		}
		all, allAt = append(all, name), append(allAt, nth(moreAt, i))
	}
	return all, allAt
}

// sameColumn compares two columns as written, backquoted or not.
func sameColumn(a, b string) bool {
	x, errX := sqltext.SplitName(a)
	y, errY := sqltext.SplitName(b)
	return errX == nil && errY == nil && slices.EqualFunc(x, y, strings.EqualFold)
}

// nth is list[i], or "" beyond its end.
func nth(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}
