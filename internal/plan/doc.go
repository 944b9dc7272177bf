// Package plan says what becomes of a statement. It does no I/O, reads no clock and holds no
// connection: a [Plan] depends on the text, the mode of its lexer, the default database and
// the schema, and is immutable. The golden files in testdata are what it answers.
//
//	text, schema → Make → Plan, whose Work is nil, an Increment, a Sum, an Exact, Refused …
//	Plan, Arguments, Setting → Route: what becomes of one execution, and why
//
// [Make] looks for names of counter tables first, and parses only where there are some. An
// [Increment] binds its arguments to amounts and keys, a [Sum] is a text with sums in place
// of its counters, and an [Exact] has the rows ([RowSet]) that are locked and folded before
// the statement runs as it is. Increments and sums have one, too: any may come to that.
//
// What is found out of a statement has these parts, each of which knows those above it:
//
//	statement     its text: tokens, parameters, clauses
//	namespace     what its names mean in the schema
//	source        one table, by the name that it has there: its columns in conditions and assignments
//	singleSelect  a query, an UPDATE of one table, the rows of an INSERT
//	singleUpdate
//	inserted
//	rewriter      texts with sums
//	analyzer      the plan
//
// A statement form is added here: in update.go, insert.go, join.go, query.go, with an entry
// in testdata and a comparison with plain MySQL in integration_test.
package plan
