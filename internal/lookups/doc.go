// Package lookups is the look-up connections of a connector: few, made when they are first
// needed, and ended with the connector. On them the driver reads what is committed ([Uncommitted]:
// and what is not), beside the sessions of the application, whose transactions neither see nor
// lock anything by it.
// It knows no table, no plan and no transaction, and runs nothing but what it is given.
//
//	go-sql-driver's connector → New → Pool → Query → rows as text
//
// A connection knows its affinity: what it has in common with the sessions for which it may
// answer. [Pool.QueryAs] of a session's affinity "db1:3306 app@% SYSTEM …" is answered by a
// connection to that server, as that user and with those settings, or not at all.
package lookups
