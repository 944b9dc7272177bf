// Package maintain is what an operator does to one table: roll it up, or count it anew. It
// works in transactions that lock few rows for a short time, skips rows that somebody else
// has locked, and may be killed at any moment. It knows neither the application's statements
// nor which tables there are.
//
//	[Rollup]     slots → base rows, the keys in order, in a session of its own ([New])
//	[Recount]    a counter beside the query that defines it: differences, and their repair
//
//	Reserve → KeysAfter → Batch: those that are free together, then each that was locked alone
package maintain
