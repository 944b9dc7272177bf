// Package watch knows the schema, and learns what becomes of it: a [Watcher] reads it over
// look-up connections, looks now and then whether it still holds, and makes what slots
// tables lack, where it may. It knows no statement, plan or transaction: who has run DDL
// says so, and what is to happen when another schema holds is a function that it is given.
//
//	specs → New → Schema(ctx) → catalog.Schema, for every statement
//	DDL of ours → RefreshOf, NoteChange → a new epoch, which the next Schema waits for
//
// Every change that a statement must not miss begins an epoch of the schema. One reading is
// under way at a time, and all who want it share it: it goes on when the context of one who
// waits for it ends. Behind ALTER TABLE post ADD COLUMN x INT, sent through the driver,
// RefreshOf(ctx, {"post"}) asks the server about post and its slots table alone, and Schema
// gives nobody the old schema from then on, but to who is [Holding] tables that the reading may
// wait for.
package watch
