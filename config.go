package countermysql

import (
	"cmp"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ngrok/sqlmw"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/sqltext"
	"github.com/countermysql/countermysql/internal/traffic"
)

// DefaultSlots is the number of slots of a counter for which nothing else is
// configured: enough for some dozens of concurrent writers of one counter.
const DefaultSlots = 16

// DefaultRollup is how often slots are rolled up in the background, unless
// Config.Rollup says otherwise.
const DefaultRollup = 30 * time.Second

// RollupNever as Config.Rollup leaves slots where they are until somebody calls Rollup.
const RollupNever time.Duration = math.MinInt64

// SlotRangeAuto derives the range of slots from the server's host name and port.
const SlotRangeAuto = traffic.Auto

// ReadOwn says what a read inside a transaction sees of the transaction's own
// increments, which are not sent before COMMIT.
type ReadOwn string

const (
	// ReadOwnLatest is plain MySQL's answer, and the default: the latest
	// committed value plus one's own increments, locked until the transaction
	// ends. Read numbers that must be unique this way.
	ReadOwnLatest ReadOwn = "latest"

	// ReadOwnSnapshot locks nothing: the value in the transaction's snapshot
	// plus its own increments. It suits values that are only displayed.
	ReadOwnSnapshot ReadOwn = "snapshot"
)

// Config lists the counters and how they are kept. The zero value has no
// counters: the driver then behaves as go-sql-driver/mysql.
//
// NewConnector and Register copy the Config, so changes made later have no
// effect. A Config may be read by many goroutines, but not while one writes it.
type Config struct {
	// Slots is the number of slots per counter, 1 to 1024, unless a table
	// says otherwise; 0 means DefaultSlots. More slots let more increments of
	// one counter run at once, and make reading it dearer.
	//
	// DSN: counterSlots. YAML: slots.
	Slots int

	// SlotRange bounds the slots that this process writes: "16-31" are those
	// numbers, so that writers of another node of a cluster, with another range,
	// never write the same rows; SlotRangeAuto, "auto", takes one of 64 ranges by
	// the server's host name and port. "" starts at 0. Numbers go from 0 to 65535, a
	// range has up to 1024 of them, and a table uses Slots of them at most.
	// Reading sums the slots of all ranges.
	//
	// DSN: counterSlotRange. YAML: slot_range.
	SlotRange string

	// CreateSlots has the driver create slots tables that are missing.
	// Otherwise statements on such a table fail with the DDL in the error.
	// A DATETIME or TIMESTAMP column that an increment sets to the current time
	// gets a column there as well, and is a touch column a minute later.
	//
	// DSN: counterCreateSlots. YAML: create_slots.
	CreateSlots bool

	// NoGroupCommit sends every increment outside a transaction by itself.
	// Otherwise those that arrive while others are under way go together, in
	// one transaction, and each caller returns once that is committed.
	//
	// DSN: counterGroupCommit=false. YAML: group_commit: false.
	NoGroupCommit bool

	// ReadOwn is what a read inside a transaction sees of the transaction's
	// own increments, unless a table says otherwise; "" means ReadOwnLatest.
	//
	// DSN: counterReadOwn. YAML: read_own.
	ReadOwn ReadOwn

	// Rollup is how often slots are rolled up in the background, from the first
	// connection to the end of the sql.DB, at least a second; 0 means DefaultRollup.
	// Of one table only one process of all works at a time. See Rollup for what it
	// does. Besides, slots are for hot rows only: an increment that meets no other
	// changes the base row, and what has got slots nevertheless loses them when it
	// has not been incremented for a moment. RollupNever turns all of that off:
	// every increment goes to a slot, and stays there until somebody rolls up.
	//
	// DSN: counterRollup=30s, or never. YAML: rollup: {every: 30s}.
	Rollup time.Duration

	// Tables are the tables that have counters, each listed once.
	//
	// DSN: counters=post.likes,post.views,other_db.page.hits. YAML: tables.
	Tables []TableConfig

	// Interceptor sees every statement that is really sent to the server, for
	// logging, tracing and tests; nil: none, at no cost. It must be safe for
	// concurrent use, and connect by the connector and the context that its
	// ConnectorConnect is given. It must not panic: the connection is closed then.
	Interceptor sqlmw.Interceptor

	// Logger gets rare events, such as a table that can't have counters; nil
	// means slog.Default().
	Logger *slog.Logger

	db string // what names without a database mean to merge; set by ParseDSN
	at configPlaces
}

// TableConfig is one table and its counters.
type TableConfig struct {
	// Table is "post", in the connection's default database, or "db.post".
	// A name that holds dots, commas or backquotes stands in backquotes:
	// "`my db`.`my.table`".
	//
	// YAML: table (a value that begins with a backquote needs YAML's quotes).
	Table string

	// Counters are the names of the columns to be counted fast, at least one.
	// Upper and lower case are the same. Backquotes are as for Table.
	//
	// YAML: counters.
	Counters []string

	// Touch are columns that the application sets to the current time beside
	// an increment, as updated_at. An increment that sets one stays fast.
	// Columns that are ON UPDATE CURRENT_TIMESTAMP, or that the slots table has,
	// are touch columns without being listed.
	//
	// DSN: counterTouch=post.updated_at,user.last_seen. YAML: touch.
	Touch []string

	// ReadOwn overrides the Config's; "" means the Config's.
	//
	// YAML: read_own.
	ReadOwn ReadOwn

	// Slots overrides the Config's, 1 to 1024; 0 means the Config's. It may be
	// changed at any time: slots that are no longer chosen are still summed.
	//
	// YAML: slots.
	Slots int

	// SlotsTable is the name of the slots table, which lives in the table's
	// own database, so a name without one; "" means the table's name and
	// "_slots". It is the same in every process. Who changes it renames the table
	// too, or rolls up before: slots under another name are not seen.
	//
	// YAML: slots_table.
	SlotsTable string

	// Recount are the queries that define counters, by column: each returns the
	// table's key columns, in their order, and the counter's true value, and no
	// row where that is 0. It must not read other counters. See Recount for
	// what is done with it; the driver itself does not need it.
	//
	// YAML: recount: {posts: SELECT blog_id, COUNT(*) FROM post GROUP BY blog_id}
	Recount map[string]string

	at tablePlaces
}

// ConfigError is one mistake in a configuration. ParseDSN, NewConnector and
// sql.Open report all mistakes together: the error's Unwrap() []error lists
// them.
type ConfigError = catalog.ConfigError

// configPlaces remembers where settings were written, for error messages; ""
// means in Go.
type configPlaces struct {
	slots, slotRange, createSlots, groupCommit, readOwn, rollup string
}

// tablePlaces is configPlaces for a table.
type tablePlaces struct {
	table, slots, readOwn, slotsTable string

	counters, touch []string // by index; may be shorter than the lists
	recount         string

	// broken is set where a mistake has been reported already: what follows
	// from it is not worth a second report.
	broken bool
}

// clone copies all that can be changed from outside.
func (c *Config) clone() *Config {
	if c == nil {
		return nil
	}
	d := *c
	d.Tables = slices.Clone(c.Tables)
	for i := range d.Tables {
		t := &d.Tables[i]
		t.Counters, t.Touch = slices.Clone(t.Counters), slices.Clone(t.Touch)
		t.at.counters, t.at.touch = slices.Clone(t.at.counters), slices.Clone(t.at.touch)
		t.Recount = maps.Clone(t.Recount)
	}
	return &d
}

// merge returns c overridden and extended by another Config, sharing nothing
// with either. The same table in both is merged too; what either has twice
// stays there twice, to be reported by check.
func (c *Config) merge(over *Config) *Config {
	if c == nil || over == nil {
		return cmp.Or(c, over).clone()
	}
	m, over := c.clone(), over.clone()
	m.db = over.db
	if over.Slots != 0 {
		m.Slots, m.at.slots = over.Slots, over.at.slots
	}
	if over.SlotRange != "" {
		m.SlotRange, m.at.slotRange = over.SlotRange, over.at.slotRange
	}
	if over.CreateSlots || over.at.createSlots != "" { // false counts where it was written
		m.CreateSlots, m.at.createSlots = over.CreateSlots, over.at.createSlots
	}
	if over.NoGroupCommit || over.at.groupCommit != "" {
		m.NoGroupCommit, m.at.groupCommit = over.NoGroupCommit, over.at.groupCommit
	}
	if over.ReadOwn != "" {
		m.ReadOwn, m.at.readOwn = over.ReadOwn, over.at.readOwn
	}
	if over.Rollup != 0 {
		m.Rollup, m.at.rollup = over.Rollup, over.at.rollup
	}
	if over.Interceptor != nil {
		m.Interceptor = over.Interceptor
	}
	if over.Logger != nil {
		m.Logger = over.Logger
	}
	mine := map[[2]string]int{} // tables that wait for their other half
	for i, t := range slices.Backward(m.Tables) {
		mine[t.key(m.db)] = i
	}
	for _, t := range over.Tables {
		if i, ok := mine[t.key(m.db)]; ok {
			m.Tables[i].extend(t)
			delete(mine, t.key(m.db))
		} else {
			m.Tables = append(m.Tables, t)
		}
	}
	return m
}

// key is what makes two tables the same; a name that can't be read is itself.
func (t *TableConfig) key(defaultDB string) [2]string {
	switch parts, _ := sqltext.SplitName(t.Table); len(parts) {
	case 1:
		return [2]string{defaultDB, parts[0]}
	case 2:
		return [2]string{parts[0], parts[1]}
	}
	return [2]string{"", t.Table}
}

func (t *TableConfig) extend(over TableConfig) {
	t.Counters, t.at.counters = union(t.Counters, t.at.counters, over.Counters, over.at.counters)
	t.Touch, t.at.touch = union(t.Touch, t.at.touch, over.Touch, over.at.touch)
	if over.ReadOwn != "" {
		t.ReadOwn, t.at.readOwn = over.ReadOwn, over.at.readOwn
	}
	if over.Slots != 0 {
		t.Slots, t.at.slots = over.Slots, over.at.slots
	}
	if over.SlotsTable != "" {
		t.SlotsTable, t.at.slotsTable = over.SlotsTable, over.at.slotsTable
	}
	if t.Recount == nil {
		t.Recount, t.at.recount = over.Recount, over.at.recount
	} else {
		maps.Copy(t.Recount, over.Recount)
	}
	t.at.broken = t.at.broken || over.at.broken
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
