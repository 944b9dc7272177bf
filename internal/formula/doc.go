// Package formula reads the queries that define derived counters, and writes what a trigger
// adds for one row of theirs. It knows no schema and no server: only the text.
//
//	text → Parse → [Formula] → Part("NEW"), the formula's part of one row
//	                         → Query, the formula with its table's full name
//	                         → TypesQuery → the server's types → Mistyped, what may fail a write
//
// Of SELECT post_id, COUNT(*) FROM comment WHERE status = 'public' GROUP BY post_id the part
// of a new row is IF((NEW.`status` = 'public'), 1, 0), for the key NEW.`post_id`.
package formula
