// Package plan says what becomes of a statement. It does no I/O, reads no clock and holds no
// connection: a [Plan] depends on the text, the mode of its lexer, the default database and
// the schema, and is immutable. The golden files in testdata are what it answers.
//
//	text, schema → Make → Plan: verbatim, an increment, a sum, exact, refused
//	Plan, Arguments → bind → the text to send
//
// [Make] looks for names of counter tables first, and parses only where there are some. An
// [Increment] binds its arguments to amounts and keys, a query to a text with sums in place
// of its counters, and the exact way to the rows ([RowSet]) that have to be locked and
// folded before the statement runs as it is.
//
// A statement form is added here: in update.go, insert.go, join.go, query.go, with an entry
// in testdata and a comparison with plain MySQL in integration_test.
package plan
