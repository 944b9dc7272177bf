// Package countermysql is a [database/sql] driver for MySQL and MariaDB that
// makes counters fast without a change to the application:
//
//	import _ "github.com/countermysql/countermysql"
//
//	db, err := sql.Open("countermysql", "user:pass@tcp(127.0.0.1:3306)/forum?counters=post.likes,post.views")
//
// UPDATE post SET likes = likes + 1 WHERE id = ? locks one row until the
// transaction ends, and every other increment of that counter waits in line.
// This driver sends such an increment to one of many slots, reads the counter
// as a sum, and leaves every other statement what it was. It wraps
// [github.com/go-sql-driver/mysql] and answers as that driver does.
//
// # The model
//
// The base table is the application's own and is not altered. Beside it, the
// slots table (<table>_slots) holds the differences, by key and slot number:
//
//	value(key) = base row + sum of the slots
//
// in every committed state and every consistent snapshot. From that follow the
// four things that can become of a statement:
//
//   - An increment (c = c + d, where d is a constant) changes the base row, if nobody has
//     that locked; else it is an upsert of one slot of many, which reads the base row under a
//     shared lock: increments never wait for each other. Outside a transaction, and in one of
//     nothing but increments, those that arrive while others are under way wait for them and
//     go together: one COMMIT serves many callers (group commit). Inside a transaction an
//     increment is pending. The pending ones are sent right before COMMIT, one statement a
//     table, in key order, so that counters do not deadlock and are locked for no longer than
//     a COMMIT. Where such transactions have been short of late, with nothing but increments
//     behind the first, the last one changes its cold row at once, and the others lock theirs.
//   - A query that reads a counter is sent as it was written, with a hidden column that
//     tells whether the table has slots at all: mostly it has none, and that was the
//     answer. If it has few, or few rows are read, hidden columns tell these, and the
//     driver adds them to the answer. Else it reads the counter through a view: a derived table of
//     the table's name and columns, whose counters are sums. Both servers merge
//     it into the query, and every name in the text means what it always meant.
//     The simplest queries have the sums in their select list.
//   - A statement that needs a counter's value (c = 0, c >= ?, FOR UPDATE,
//     DELETE, what can't be parsed) is exact: the base rows concerned are
//     locked, their slots added to them, and the statement runs as it is, in one
//     transaction. Where the rows have no slots that takes one round trip or two; a REPLACE,
//     an upsert that overwrites, or a DELETE of several rows five to seven. See
//     docs/how-it-works.md.
//   - All else is verbatim, and so is a relative write that the fast path does
//     not understand: adding to the base row is as right as adding to a slot.
//
// # The flow of a statement
//
//	text → plan (cached by text) → bind → run, or pending → ordered → sent → result
//
// A [Connector] keeps what it knows of the schema and the plans; a connection
// looks its statement up and runs it. Texts that differ only in literals share a
// plan. Where no counter table is named, that look-up is all that is added. Base
// rows are looked up, and slots read, on a few look-up connections of the
// connector's, which see what is committed.
//
// # Operating
//
// Slots are for hot rows: an increment that meets no other changes the base row itself,
// where it need not wait for a lock, and so do those of one row that have met in a process,
// together. What a process has left in slots it folds when the key has not been incremented
// for a moment.
//
// What takes from a counter that must not go below zero (stock = stock - 1 WHERE id = 7 AND
// stock >= 1) needs its value: those of one row go together outside transactions, and inside
// them take from one of many reserved rows, if Config.Reserve says so: see docs/stock.md.
//
// [Rollup] adds the slots to the base rows, on demand and in the background
// (Config.Rollup), in transactions that lock few rows for a short time and skip
// those that somebody else has locked. [Check], [Init], [Explain], [Recount] and
// [Drop] are for adopting and leaving, and [Stats] tells what the driver has done;
// cmd/countermysql is the tool of all this, and docs/operations.md the way.
//
// # Promises
//
// Rows, RowsAffected, LastInsertId, errors, column names and types, and the
// outcome of transactions are those of go-sql-driver/mysql. Server errors pass
// through as *mysql.MySQLError; mistakes in the configuration are [*ConfigError],
// all of them together; a table that can't have counters fails its statements
// with [*UnfitError], one without a slots table with [*SlotsTableError], which
// tells the DDL. What differs is listed, with reasons, in docs/semantics.md.
//
// # Concurrency, contexts and errors
//
// All exported types are safe for concurrent use unless they say otherwise, and so are
// the functions that take a sql.DB: they may run beside any load, and beside each other in
// several processes. The db has to be of this driver and to have counters, also behind a
// wrapper such as otelsql; of any other they return an error. Where ctx ends they stop, with
// its error: what was done by then stays, no count is lost, and the same call again goes on.
package countermysql

// Packages, each knowing those above it alone (TestImportsGoUp keeps that):
//
//	internal/sqltext, mysqlerr     SQL as text; numbers of errors
//	internal/groupcommit           many callers, one send; knows no SQL
//	internal/stock                 which of many guarded updates of a row find enough; arithmetic and memory only
//	internal/stats                 what the driver counts of itself
//	internal/formula               the queries that define derived counters; no schema
//	internal/catalog               tables, keys and slots tables as the server has them
//	internal/lookups               a few connections that read what is committed
//	internal/watch                 learns the schema, and makes what slots tables lack
//	internal/slotsql               every statement about slots, as text
//	internal/traffic               what goes on on a table: hot keys, slots in use; memory only
//	internal/config                what is configured, in Go, a DSN or a file, and its mistakes
//	internal/plan                  statement and schema → plan; no I/O
//	internal/answer                results, rows and types as plain MySQL gives them
//	internal/txn                   what a transaction has done to counter tables; memory only
//	internal/session               one session: settings, status, transaction, our own statements
//	internal/buffer                increments that are acknowledged before they are stored
//	internal/fold                  slots and pending increments → base rows; what a transaction sees
//	internal/maintain              what an operator does to tables, and what goes on beside statements
//	internal/increment             increments: base row or slot, at once, together or pending
//	internal/sale                  statements of one row that need its value, together
//	internal/exact                 statements that need a counter's value
//	internal/read                  queries of counters: a look, sums, types
//	internal/ddl                   what changes tables, and their slots with them
//	this one                       connections, transactions, sending, answers, operating
//
// One increment, UPDATE post SET likes = likes + 1 WHERE id = ?, function by function:
//
//	execute planOf planBy planAnew Make plan dml update   what it is: once for each text
//	run runOnce runData Route increment              with the arguments of a call
//
//	CountOne fillDirectly leadAlone fillSlot         outside a transaction: one statement,
//	fillTogether Entry together sendRequests         together with others where some are under way,
//	sendBatch sendUpsert counted                     and the answer of the plain one
//
//	BeginTx mayDefer                                 in a transaction: BEGIN waits,
//	Count countLater promise                         it is noted
//	KeepPromises sendAtOnce sendWithHeld             if RowsAffected is asked, its row is changed,
//	findAll hold lookUp addPending                   or locked, or looked up, if others may follow
//	Commit Due CommitTogether                        COMMIT: as outside, if nothing else was done,
//	commit Send sendRowsDirect sendTable             or right before it
//
// Where to read, in the order of a statement's life:
//
//	driver config                                      from a DSN, by internal/config, to a Connector
//
//	conn stmt begin                                    what database/sql calls, over internal/session
//	rewrite absence                                    text → plan, and the text that goes out
//	call run split set                                 plan → what is sent, or internal/read, internal/exact and internal/ddl
//
//	count                                              an increment, by internal/increment
//	wanted                                             - or what would make it one, by internal/watch
//	savepoint                                          - pending, in internal/txn
//	ordering                                           - pending → sorted → sent before COMMIT
//	errors                                             the answer, as plain MySQL gives it, by internal/answer
//
//	rollup check initialize recount leave flush        operating, by internal/maintain
//	wrapped explain
//	describe stats                                     what internal/stats has counted
