package main

// peer is one way to count. A peer that says what it lacks (a counter, slots,
// an index) is a measure for the others.
type peer struct {
	name        string
	driver      string // of database/sql; "": Redis
	handWritten bool   // slots in the application's own SQL
	noDetection bool   // innodb_deadlock_detect=OFF while it runs
	params      string // of the DSN
	appendfsync string // of Redis
}

var (
	plain        = peer{name: "plain", driver: "mysql"}
	handWritten  = peer{name: "hand-written slots", driver: "mysql", handWritten: true}
	counterMySQL = peer{name: "countermysql", driver: "countermysql"}

	// Without detection a deadlock lasts until somebody's lock wait times out;
	// the default of 50 s would measure that alone.
	noDetection = peer{name: "plain, deadlock_detect=OFF", driver: "mysql", noDetection: true, params: "innodb_lock_wait_timeout=1"}

	redisAlways      = peer{name: "Redis, fsync always", appendfsync: "always"}
	redisEverySecond = peer{name: "Redis, fsync every second", appendfsync: "everysec"}

	noCounter   = peer{name: "no counter", driver: "mysql"}
	rolledUp    = peer{name: "countermysql, rolled up", driver: "countermysql"}
	noIndex     = peer{name: "plain, no index", driver: "mysql"}
	looking     = peer{name: "plain, slots looked for", driver: "mysql"}
	addedByHand = peer{name: "slots added up by hand", driver: "mysql"}
	unwaiting   = peer{name: "plain, rows not waited for", driver: "mysql"}

	// Ways of counting.
	rowsCounted     = peer{name: "rows, counted on read", driver: "mysql"}
	rowsMarked      = peer{name: "rows, aggregated by a marker", driver: "mysql"}
	tablesExchanged = peer{name: "two tables, exchanged", driver: "mysql"}
	slotsBeforehand = peer{name: "100 slots, made beforehand", driver: "mysql"}
	bufferInMemory  = peer{name: "buffer in memory", driver: "mysql"}
	withHistory     = peer{name: "countermysql, history", driver: "countermysql"}
	withBuffer      = peer{name: "countermysql, buffered", driver: "countermysql"}
	rollingUp       = peer{name: "the same, rolled up beside", driver: "countermysql"}
	forgetting      = peer{name: "the same, forgotten beside", driver: "countermysql"}
	reserving       = peer{name: "countermysql, reserve", driver: "countermysql", params: "counterReserve=64"}
	historyByHand   = peer{name: "plain, history by hand", driver: "mysql"}
	byTrigger       = peer{name: "trigger on the base row", driver: "mysql"}
	derived         = peer{name: "countermysql, derived", driver: "countermysql"}
)

// Deadlock detection matters where clients queue.
var (
	autocommitPeers  = []peer{plain, noDetection, handWritten, counterMySQL, redisAlways, redisEverySecond}
	calmPeers        = []peer{plain, handWritten, counterMySQL, redisAlways, redisEverySecond}
	transactionPeers = []peer{plain, noDetection, handWritten, counterMySQL}
)

// ours reports whether the peer is this project's driver.
func (p peer) ours() bool { return p.driver == counterMySQL.driver }

func (p peer) redis() bool { return p.driver == "" }
