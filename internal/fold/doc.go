// Package fold is the exact way: slots and pending increments go to their base rows, in the
// transaction that is open. And it says how that transaction sees counters, some of whose
// rows it has written.
//
// The order of locks is that of the whole driver: base rows first, all of them in key order,
// and then their slots. Who has locked a base row keeps everybody from its slots, so that
// what a look-up connection reads of them stays true; and only what was read is taken away.
// Reserved rows come before the base row, the first of them before the others: from those,
// transactions take under their lock alone ([Reserved]).
//
//	LockRows → SlotRows → FoldSlots: one UPDATE of the base rows, one DELETE of the slots, and
//	one UPDATE of reserved rows, which stay
//
//	[Folder.FoldScopes]    the rows that a statement concerns
//	[Folder.FoldTable]     all of a table's, until none with slots is left: one moment
//	[Between]              the statement itself, where it may write rows that were not locked
//	reveal                 and what others have folded since the transaction's snapshot
//	[Folder.ApplyPending]  what the transaction has not sent yet, with the slots of its rows
//	showPending            or one increment without them, for a read, which adds them up
//	[Follow]               rows that it has found by another key, under the keys that they have now
//	[Folder.View]          how a query is to see a table beside what the transaction has written
//	[NoteLocked]           a row that it has locked, with or without slots: it stays so
//	[Folder.SettleAll]     everything, for what may read anything
//	[Folder.SweepOrphans]  slots of rows that others have deleted, before an INSERT of their key
package fold
