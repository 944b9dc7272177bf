package stats

import "time"

// Statistics are totals of a sql.DB since it was opened, but Pending, Slotted,
// Waiting, Schema.Age, Degraded, Unfit, Derived and Histories, which are of now. They are not of one moment: each is read by itself.
type Statistics struct {
	// Statements that name a table with counters, by what became of them.
	Increments int64            // taken by slots or the base row, or pending until COMMIT
	Sums       int64            // queries whose counters were read as base row + slots
	Exact      map[string]int64 // rolled up the rows concerned and ran as they are, by reason
	Verbatim   int64            // ran as they are

	// Fallbacks are the texts that run the exact way because they could not be
	// parsed or resolved: the first 100 that differ in more than their literals.
	Fallbacks []Fallback

	Pending int64     // increments of open transactions, which are sent at COMMIT
	Flushes int64     // tables whose pending increments a COMMIT has sent, but those of groups
	Groups  Histogram // of increments outside transactions, and of transactions of nothing else: how many shared a commit

	// Guards are of updates outside transactions that a condition on the counter may refuse
	// (stock = stock - 1 where stock >= 1), or that stop at a bound (GREATEST(likes - 1, 0)), one
	// row each, and of increments that went with them: how many shared a statement.
	Guards Histogram

	Reserved int64 // guarded updates in transactions that took their units from reserved rows, also where they were rolled back

	Rollups RollupStatistics
	Slotted SlottedStatistics

	// Degraded are the tables that others have changed so that they take no more
	// increments into slots, as far as is known, and why. They are as slow as on plain
	// MySQL.
	Degraded map[string][]string

	// Unfit are the tables whose statements fail, and why: they can't have counters, or lack a slots table.
	Unfit map[string][]string

	Schema SchemaStatistics

	// Waiting are the rows of slots tables, by table, that the rollup in the background
	// found when it looked last, and then rolled up; at most 10,000 of one are counted.
	Waiting map[string]int64

	// Buffered is what waits in memory of the tables that are configured so, by table.
	Buffered map[string]BufferedStatistics

	// Derived and Histories are what triggers write, in order, as the schema was read last.
	Derived   []DerivedStatistics
	Histories []HistoryStatistics

	// Errors of the server in answer to statements on tables with counters, by
	// their numbers. The application got them, except where the driver tries again.
	Errors map[uint16]int64
}

// Fallback is a text that is not understood.
type Fallback struct {
	Digest string // the text, shortened and with ? for its literals
	Reason string
	Count  int64 // how often it was planned
}

// Histogram counts values by upper bounds.
type Histogram struct {
	Bounds []int64 // upper, inclusive, ascending
	Counts []int64 // one more than Bounds: the last is of what is above them all
	Sum    int64   // of the values
}

// RollupStatistics are totals of rollups, those of Rollup and those in the
// background alike.
type RollupStatistics struct {
	Runs    int64
	Errors  int64 // runs that ended with an error
	Keys    int64 // base rows that got the sum of their slots
	Slots   int64 // rows removed from slots tables
	Orphans int64 // rows removed whose base rows no longer existed
	Busy    int64 // keys left for later because somebody kept the base row locked
	Left    int64 // keys left because the base row can't take their slots

	Forgotten int64 // rows of histories removed because they were kept for long enough
}

// SchemaStatistics are of what is known of the server's tables.
type SchemaStatistics struct {
	Age    time.Duration // since it was looked at last: a process that does nothing does not look
	Errors int64         // readings that failed
}

// SlottedStatistics are, of now, the keys whose slots this process has written and not
// folded since: the hot ones. With RollupNever it remembers none. At most 65,536 of a
// table are counted.
type SlottedStatistics struct {
	Keys   int64
	Oldest time.Duration // since the one that is in slots for longest got there; 0 without any
}

// BufferedStatistics are of a table's increments that are acknowledged before they are stored.
type BufferedStatistics struct {
	Acknowledged int64            // in all
	Waiting      int64            // of them, now: what a process that is killed takes along
	Keys         int64            // that wait, or are being stored
	Oldest       time.Duration    // since the first of those that wait came; 0: none waits
	Flushes      int64            // that have stored something
	Failures     int64            // flushes that could not store all for another reason than locked rows
	Error        string           // why the last one failed; "": it did not
	Flushed      time.Time        // the last that did not fail; zero before the first
	Age          time.Duration    // since then
	Lost         map[string]int64 // increments that could not be stored, by reason
}

// DerivedStatistics are of a counter that is a formula over another table.
type DerivedStatistics struct {
	Table   string // database.table
	Counter string
	Problem string // why it does not follow its formula; "": it does
}

// HistoryStatistics are of a table whose counters are kept as time series.
type HistoryStatistics struct {
	Table   string // database.table
	History string // the history table, in the same database
	Every   time.Duration
	Problem string // why it is not written as configured; "": it is
}
