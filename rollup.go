package countermysql

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/countermysql/countermysql/internal/maintain"
)

// DefaultMaxLock, 100 milliseconds, is for how long a rollup keeps base rows locked at a
// time, unless RollupOptions says otherwise.
const DefaultMaxLock = maintain.DefaultMaxLock

// RollupOptions bound a rollup. Nil is the same as the zero value.
type RollupOptions struct {
	// Tables are the tables to roll up, "post" or "db.post"; none means every
	// table with counters.
	Tables []string

	// MaxLock is for how long a transaction of the rollup may keep base rows
	// locked, which increments of these rows wait for; the number of rows per
	// transaction is adapted to it. A row that somebody else keeps locked is
	// waited for as long, rounded up to seconds as the servers do, and then left
	// for the next rollup. 0 means DefaultMaxLock.
	MaxLock time.Duration

	// Progress, if not nil, is called before the first transaction of a table and
	// after each, by the goroutine that called Rollup, which waits for it.
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
// The result tells what was done, also beside an error; run it again to go on. A listed
// table or column that does not exist is an error, beside which all others are rolled up,
// unless options name the tables.
func Rollup(ctx context.Context, db *sql.DB, options *RollupOptions) ([]RolledUp, error) {
	options = cmp.Or(options, &RollupOptions{})
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

// RolledUp is what a rollup did to one table:
//
//	Table   string database.table
//	Keys    int64  base rows that got the sum of their slots
//	Slots   int64  rows removed from the slots table; without Orphans
//	Orphans int64  rows removed from the slots table whose base rows no longer exist
//	Busy    int64  keys left because somebody kept the base row locked
//	Left    []Left keys left because the base row can't take their slots, at most 100
type RolledUp = maintain.RolledUp

// Left is a key whose slots, or a part of them, stay where they are: they are
// counted, and every read shows them.
//
//	Key    string for people: the key's columns and values, as day=2026-01-02 name="home"
//	Reason string for people
type Left = maintain.Left
