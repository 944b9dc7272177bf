package countermysql

import (
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"

	"github.com/countermysql/countermysql/internal/catalog"
	"github.com/countermysql/countermysql/internal/config"
	"github.com/countermysql/countermysql/internal/traffic"
)

// DefaultSlots, 16, is the number of slots of a counter for which nothing else is
// configured: enough for some dozens of concurrent writers of one counter.
const DefaultSlots = config.DefaultSlots

// DefaultRollup is how often slots are rolled up in the background, unless
// Config.Rollup says otherwise.
const DefaultRollup = 30 * time.Second

// RollupNever as Config.Rollup, a negative time, leaves slots where they are until somebody
// calls Rollup.
const RollupNever = config.Never

// SlotRangeAuto, "auto", derives the range of slots from the server's host name and port.
const SlotRangeAuto = traffic.Auto

// ReadOwn says what a read inside a transaction sees of the transaction's own
// increments, which mostly wait for COMMIT.
type ReadOwn string

const (
	// ReadOwnLatest is plain MySQL's answer, and the default: the latest
	// committed value plus one's own increments, locked until the transaction
	// ends. Read numbers that must be unique this way.
	ReadOwnLatest ReadOwn = config.Latest

	// ReadOwnSnapshot locks nothing: the value in the transaction's snapshot
	// plus its own increments. It suits values that are only displayed.
	ReadOwnSnapshot ReadOwn = config.Snapshot
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
	// never write the same rows; SlotRangeAuto, "auto", takes one of 63 ranges by
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

	// Reserve has guarded updates inside transactions (stock = stock - 1 WHERE id = 7 AND
	// stock >= 1) of one row that many want at once take from so many reserved rows of it, 1 to
	// 512, instead of waiting for each other: of each UNSIGNED integer counter, unless a
	// table says otherwise. 0, the default: none. What is reserved is missing in the base row
	// until nobody wants it any more, for clients without the driver. With RollupNever there is none.
	// See docs/stock.md.
	//
	// DSN: counterReserve. YAML: reserve.
	Reserve int

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

	at config.Places
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

	// Derived are the formulas of counters that are never written by hand, by column:
	// SELECT key, COUNT(*) FROM table WHERE … GROUP BY key, with COUNT(*), COUNT(column) or
	// SUM(expression) over the rows of one other table. Init makes triggers of that table which
	// keep the counter, whoever writes it, and sets it once. The formula is its query for
	// Recount, too. See docs/derived.md.
	//
	// YAML: derived: {comments: SELECT post_id, COUNT(*) FROM comment GROUP BY post_id}
	Derived map[string]string

	// Buffered loses what has been acknowledged within an interval if the process is killed, and
	// keeps no order: it has increments by primary key outside transactions added up in memory,
	// acknowledged at once and stored in one batch an interval, by Flush and by the end of the
	// sql.DB. It is for counts such as page views. nil, the default: none of that.
	//
	// YAML: buffered: {every: 1s, keys: 100000, counters: [views]}
	Buffered *Buffered

	// History keeps the counters as time series: triggers, which Init makes, add each change of
	// a counter to its interval's row in a table of its own. nil, the default: none of that.
	//
	// YAML: history: {every: 1h, keep: 90d}
	History *History

	// Reserve overrides the Config's, by column; 0 means none. Not for tables with a History
	// or Derived counters.
	//
	// YAML: reserve: {stock: 64}
	Reserve map[string]int

	at config.Places
}

// History says how counters are kept as time series:
//
//	Every time.Duration the length of an interval, a part of a day from a minute to 24 hours; 0 means an hour
//	Keep  time.Duration how long intervals are kept, by the rollups in the background; 0: for ever
//	Table string        the table, in the table's own database; "" means <table>_history
type History = catalog.History

// Buffered says how increments wait in memory:
//
//	Every time.Duration the interval in which they are stored, 10 milliseconds to an hour; 0 means a second
//	Keys  int           how many rows may wait at most, 1 to 10,000,000; 0 means 100,000. Beyond them, an
//	                    increment of another row waits for a flush, until its context ends
//	Counters []string   whose increments wait; none: those of all the table's counters
type Buffered = catalog.Buffered

// ConfigError is one mistake in a configuration. ParseDSN, NewConnector and
// sql.Open report all mistakes together: the error's Unwrap() []error lists
// them.
//
//	Place   string "DSN parameter counterSlots", "counters.yaml:7", "Config.Tables[1].Slots"
//	Problem string for people
//	Remedy  string for people
type ConfigError = catalog.ConfigError

// ParseDSN reads a go-sql-driver DSN with these parameters of ours, which the
// returned mysql.Config does not have:
//
//	counters            post.likes,post.views,other_db.page.hits
//	counterSlots        slots per counter, 1 to 1024 (default 16)
//	counterSlotRange    the numbers of the slots that are written, as 16-31, or auto
//	counterCreateSlots  create missing slots tables (default false)
//	counterGroupCommit  send increments of several callers together (default true)
//	counterReadOwn      latest (default) or snapshot
//	counterRollup       roll up in the background so often, as 1m, or never (default 30s)
//	counterTouch        user.last_seen: touch columns, written as counters are
//	counterReserve      reserved rows of each UNSIGNED counter, 1 to 512 (default none)
//	counterConfig       a YAML file with the same settings and more
//
// A counter is table.column, in the DSN's database, or db.table.column. A name
// that holds dots, commas or backquotes stands in backquotes. As everywhere in
// a DSN values are URL-escaped; the slashes of counterConfig need not be.
//
// Without counterConfig the environment variable COUNTERMYSQL_CONFIG may name
// the file. The DSN's parameters override the file's settings, not those of
// single tables, and its counters and touch columns add to the file's.
//
// The error of a DSN that go-sql-driver refuses is go-sql-driver's. Mistakes in
// the counters are reported together, each a *ConfigError; they do not quote
// other parts of the DSN.
func ParseDSN(dsn string) (*mysql.Config, *Config, error) {
	return parseDSN(dsn, nil)
}

// parseDSN is ParseDSN upon a Config given in Go, which the DSN and its file override and
// extend.
func parseDSN(dsn string, base *Config) (*mysql.Config, *Config, error) {
	cfg, settings, err := config.ParseDSN(dsn, base.settings())
	if err != nil {
		return nil, nil, err
	}
	return cfg, base.with(settings), nil
}

// clone copies all that can be changed from outside.
func (c *Config) clone() *Config {
	if c == nil {
		return nil
	}
	return c.with(c.settings().Clone())
}

// settings are what can also be written in a DSN or a file. They share their lists with c.
func (c *Config) settings() *config.Settings {
	if c == nil {
		return nil
	}
	s := &config.Settings{Slots: c.Slots, SlotRange: c.SlotRange, CreateSlots: c.CreateSlots, NoGroupCommit: c.NoGroupCommit, ReadOwn: string(c.ReadOwn), Rollup: c.Rollup, Reserve: c.Reserve, At: c.at}
	for _, t := range c.Tables {
		s.Tables = append(s.Tables, config.Table{Table: t.Table, Counters: t.Counters, Touch: t.Touch, ReadOwn: string(t.ReadOwn), Slots: t.Slots, SlotsTable: t.SlotsTable, Recount: t.Recount, Derived: t.Derived, Buffered: t.Buffered, History: t.History, Reserve: t.Reserve, At: t.at})
	}
	return s
}

// with is the Config of other settings, with what c has besides.
func (c *Config) with(s *config.Settings) *Config {
	out := &Config{Slots: s.Slots, SlotRange: s.SlotRange, CreateSlots: s.CreateSlots, NoGroupCommit: s.NoGroupCommit, ReadOwn: ReadOwn(s.ReadOwn), Rollup: s.Rollup, Reserve: s.Reserve, at: s.At}
	if c != nil {
		out.Interceptor, out.Logger = c.Interceptor, c.Logger
	}
	for _, t := range s.Tables {
		out.Tables = append(out.Tables, TableConfig{Table: t.Table, Counters: t.Counters, Touch: t.Touch, ReadOwn: ReadOwn(t.ReadOwn), Slots: t.Slots, SlotsTable: t.SlotsTable, Recount: t.Recount, Derived: t.Derived, Buffered: t.Buffered, History: t.History, Reserve: t.Reserve, at: t.At})
	}
	return out
}
