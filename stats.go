package countermysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/countermysql/countermysql/internal/stats"
)

// Statistics are totals of a sql.DB since it was opened, but Pending, Slotted, Waiting,
// Schema.Age, Degraded, Unfit, Derived and Histories, which are of now. They are not of one
// moment: each is read by itself. Statements are counted that name a table with counters, by what became of them:
//
//	Increments int64            taken by slots or the base row, or pending until COMMIT
//	Sums       int64            queries whose counters were read as base row + slots
//	Exact      map[string]int64 rolled up the rows concerned and ran as they are, by reason
//	Verbatim   int64            ran as they are
//	Fallbacks  []Fallback       the texts that run the exact way as they could not be parsed or resolved:
//	                            the first 100 that differ in more than their literals
//	Errors     map[uint16]int64 the server's errors in answer to such statements, by their numbers; the
//	                            application got them, except where the driver tries again
//
// Of increments, and what a COMMIT takes along:
//
//	Pending int64     increments of open transactions, which are sent at COMMIT
//	Flushes int64     tables whose pending increments a COMMIT has sent, one for each COMMIT; without Groups
//	Groups  Histogram commits shared by increments outside transactions, and by transactions of nothing
//	                  else; the values are how many shared one
//	Guards  Histogram commits shared by updates of one row outside transactions that a condition on the
//	                  counter may refuse (stock = stock - 1 where stock >= 1) or that stop at a bound
//	                  (GREATEST(likes - 1, 0)), and by increments that came meanwhile; likewise
//
//	Reserved int64    guarded updates in transactions that took from reserved rows (Config.Reserve), also
//	                  those that were rolled back
//
// Of slots, tables and the schema:
//
//	Rollups  RollupStatistics
//	Slotted  SlottedStatistics
//	Waiting  map[string]int64    rows of slots tables that the rollup in the background found when it looked
//	                             last, and then rolled up, by database.table; at most 10,000 of one are counted
//	Degraded map[string][]string tables that others have changed so that they take no more increments into
//	                             slots, by database.table, and why: as slow as on plain MySQL
//	Unfit    map[string][]string tables whose statements fail, and why: they can't have counters, or lack a slots table
//	Schema   SchemaStatistics
//
// Of tables that are Buffered, by database.table:
//
//	Buffered map[string]BufferedStatistics
//
// Of what triggers write, as the schema was read last; in the order of the tables:
//
//	Derived   []DerivedStatistics
//	Histories []HistoryStatistics
type Statistics = stats.Statistics

// Fallback is a text that is not understood:
//
//	Digest string the text, shortened and with ? for its literals
//	Reason string
//	Count  int64  how often it was planned, which is once for many executions
type Fallback = stats.Fallback

// Histogram counts values by upper bounds:
//
//	Bounds []int64 upper, inclusive, ascending
//	Counts []int64 of the values up to each bound and above the one before: one more than Bounds, the last
//	               of what is above them all
//	Sum    int64   of the values
type Histogram = stats.Histogram

// RollupStatistics are totals of rollups, those of Rollup and those in the background alike:
//
//	Runs    int64 of all tables together, or of those asked for
//	Errors  int64 of them that ended with an error
//	Keys    int64 base rows that got the sum of their slots
//	Slots   int64 rows removed from slots tables; without Orphans
//	Orphans int64 rows removed from slots tables whose base rows no longer existed
//	Busy    int64 keys left for later because somebody kept the base row locked
//	Left    int64 keys left because the base row can't take their slots
//
//	Forgotten int64 rows of histories removed because they were kept for long enough
//
// Keys, Slots and Orphans have what a process folds by itself between the runs, too. A key
// that is left is counted again by each run that leaves it.
type RollupStatistics = stats.RollupStatistics

// SlottedStatistics are, of now, the keys whose slots this process has written and not
// folded since: the hot ones. With RollupNever it remembers none.
//
//	Keys   int64         at most 65,536 of a table are counted
//	Oldest time.Duration since the one that is in slots for longest got there; 0 without any
type SlottedStatistics = stats.SlottedStatistics

// SchemaStatistics are of what the driver knows of the server's tables:
//
//	Age    time.Duration since it was looked at last; 0 before the first time. A process that does nothing
//	                     does not look; one that is busy does every ten seconds
//	Errors int64         readings that failed, in all
type SchemaStatistics = stats.SchemaStatistics

// BufferedStatistics are of a table's increments that are acknowledged before they are stored:
//
//	Acknowledged int64            in all; Statistics.Increments does not have them
//	Waiting      int64            of them, now: what a process that is killed takes along
//	Keys         int64            rows of which some wait, or are being stored
//	Oldest       time.Duration    since the first of those that wait came; 0: none waits
//	Flushes      int64            that have stored something
//	Failures     int64            flushes that failed for another reason than locked rows
//	Error        string           why the last flush failed; "": it did not
//	Flushed      time.Time        the last flush that did not fail; zero before the first
//	Age          time.Duration    since then. Where nothing waits, nothing is flushed, and it grows
//	Lost         map[string]int64 increments that could not be stored, by reason: the row is gone, say
type BufferedStatistics = stats.BufferedStatistics

// DerivedStatistics are of a counter that is Derived:
//
//	Table   string database.table
//	Counter string
//	Problem string why it does not follow its formula: a trigger is missing, say; "": it does. Init mends it
type DerivedStatistics = stats.DerivedStatistics

// HistoryStatistics are of a table that has a History:
//
//	Table   string        database.table
//	History string        the history table, in the same database
//	Every   time.Duration
//	Problem string        why it is not written as configured: a trigger is missing, say; "": it is. Init mends it
type HistoryStatistics = stats.HistoryStatistics

// Stats returns what the driver has done for db, which has to be countermysql's.
// It asks the server nothing. A db of a wrapper such as otelsql's is found
// through a connection the first time, for which it waits two seconds at most.
func Stats(db *sql.DB) (Statistics, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // for the connection, if one is needed
	defer cancel()
	c, err := connectorOf(ctx, db)
	if err != nil {
		return Statistics{}, err
	}
	out := c.stats.Snapshot()
	out.Buffered = c.buffers.Statistics()
	out.Slotted, out.Waiting, out.Schema.Errors = c.background.Slots(), c.background.Waiting(), c.watcher.Errors()
	if s := c.watcher.Current(); s != nil {
		out.Degraded, out.Unfit, out.Schema.Age = s.Degraded(), s.Unfit(), c.watcher.Age()
		out.Derived, out.Histories = s.Derived(), s.Histories()
	}
	return out, nil
}
