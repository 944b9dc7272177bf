// Package slotsql writes every statement about slots, as text made of tables, keys and
// amounts. It sends nothing, and does not know what a transaction is.
//
// The model that all of it keeps: a counter's value is that of the base row and the sum of
// its slots.
//
//	[Upsert], [Template]     an increment: into one slot, under a shared lock of the base row
//	[View], [WideView]       a table as the application sees it, its counters being sums
//	[Gathered]               the sums of several counters of one row
//	[LockSQL], [Folding]     the exact way: base row, then slots, then one into the other
//	[LockReserved], …        reserved rows: locked, taken from, filled, emptied
//	[Orphans], [After]       what is left over
//
// For the counter likes of the table post, [View] is
//
//	(SELECT CAST(`post`.`likes` + COALESCE((SELECT COALESCE(SUM(…), 0) FROM `post_slots` …), …) AS SIGNED) AS `likes` … FROM `post`)
package slotsql
