// Package maintain is what an operator does to tables: roll them up, count them anew, make
// their slots tables, or ask what is wrong with them. What writes works in transactions that
// lock few rows for a short time, skips rows that somebody else has locked, and may be killed
// at any moment. It knows neither the application's statements nor its connections.
//
//	[Maintainer.RollUp]     slots → base rows, the keys in order, in sessions of its own
//	[Maintainer.Recount]    a counter beside the query that defines it: differences, and their repair
//	[Maintainer.Drop]       slots tables are closed, rolled up and dropped
//	[Background]            beside statements: a rollup now and then, cold keys ([Background.Slotted]),
//	                        and units that are moved to reserved rows ([Background.Fill])
//	[Init]                  the slots tables that a schema lacks
//	[Maintainer.MakeTriggers] histories and derived counters: what writes and keeps them
//	[Check]                 what keeps counters from being fast, or from being counted
//
//	run: keysAfter → batch: those that are free together, then each that was locked alone
package maintain
