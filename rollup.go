package countermysql

import (
	"context"
	"database/sql"
	"time"

	"github.com/countermysql/countermysql/internal/maintain"
)

// DefaultMaxLock is for how long a rollup keeps base rows locked at a time,
// unless RollupOptions says otherwise.
const DefaultMaxLock = maintain.DefaultMaxLock

// RollupOptions bound a rollup. Nil is the same as the zero value.
type RollupOptions struct {
	// Tables are the tables to roll up, "post" or "db.post"; none means every
	// table with counters.
	Tables []string

	// MaxLock is for how long a transaction of the rollup may keep base rows
	// locked, which increments of these rows wait for; the number of rows per
	// transaction is adapted to it. A row that somebody else keeps locked is
	// waited for as long, rounded up to seconds, and then left for the next
	// rollup. 0 means DefaultMaxLock.
	MaxLock time.Duration

	// Progress, if not nil, is called after each transaction. It must not
	// use the options or the result.
	Progress func(RollupProgress)
}

// RollupProgress says how far a rollup has got with a table.
type RollupProgress struct {
	Table string // database.table
	Slots int64  // rows of the slots table that were dealt with
	Total int64  // rows that it had when the rollup came to the table
}

// Rollup adds the slots of every counter to the base rows, so that clients
// that do not know about slots see every count and reads are as fast as they
// can be. No value changes by it at any moment, even if it is killed: each of its
// transactions takes some base rows, the keys in order, and moves what their
// slots hold. It may run at any time, beside any load and beside other rollups:
// of one table one works and the others wait.
//
// The result tells what was done, also beside an error; run it again to go on.
// The db has to be countermysql's.
func Rollup(ctx context.Context, db *sql.DB, options *RollupOptions) ([]RolledUp, error) {
	if options == nil {
		options = &RollupOptions{}
	}
	c, err := connectorOf(ctx, db)
	if err != nil {
		return nil, err
	}
	return c.background.RollUp(ctx, maintain.Options{Tables: options.Tables, MaxLock: options.MaxLock, Progress: told(options.Progress), Wait: true})
}

// told is a rollup's way to tell how far it has got.
func told(progress func(RollupProgress)) func(table string, slots, total int64) {
	if progress == nil {
		return nil
	}
	return func(table string, slots, total int64) { progress(RollupProgress{table, slots, total}) }
}

// RolledUp is what a rollup did to one table: base rows that got the sum of their slots
// (Keys), rows removed from the slots table (Slots), and those of them whose base rows no
// longer exist (Orphans, beside Slots); keys left because somebody kept the base row locked
// (Busy), or because the base row can't take their slots (Left, at most 100).
type RolledUp = maintain.RolledUp

// Left is a key whose slots, or a part of them, stay where they are: they are
// counted, and every read shows them.
type Left = maintain.Left
