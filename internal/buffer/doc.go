// Package buffer holds increments that are acknowledged before they are stored: added up in
// memory, by table and key, and sent in one batch now and then. It knows no statement of the
// application's and no plan. What it is given to keep it stores, once, or says that it was
// lost; but a process that is killed takes along what waits.
//
//	[Table.Add]      adds one, if its row is known to be there
//	[Table.Learn]    a row is there, as a statement has just found out
//	[Table.Flush]    returns when all that was added before is stored
//	[Buffers.Close]  stores what waits, and ends
//
// One goroutine of a table flushes, in a session of its own, some hundred keys at a time, and
// waits for no row:
//
//	take → UPDATE countermysql_flushes, base rows
//
// or, if one of these is locked, gone, or can't hold the number, those that can be stored so, or
// into slots:
//
//	BEGIN → UPDATE countermysql_flushes → INSERT … slots → COMMIT
//
// A row that is locked exclusively is left for the next flush. A statement, or a COMMIT, whose
// answer was lost is looked for before anything else is sent: it holds the row of the flush from
// its beginning to its end, so that who has locked that row knows whether it was stored; and the
// statement does nothing when that has been asked meanwhile.
//
// Three increments of post 7 and one of post 9 in a second are one UPDATE of two rows,
// 7 + 3 and 9 + 1.
package buffer
