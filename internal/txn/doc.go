// Package txn is the memory of one transaction: what it has done to counter tables, and not
// done yet. It sends nothing, and knows no connection.
//
//	[State]      all of it
//	[Pending]    the increments of one table that are still to be sent, one entry a key, and what
//	             is taken of a reserved row
//	[WriteSet]   the base rows of one table that it has written, and whose slots it has folded
//	[Promise]    an increment whose row has not been looked for, until somebody asks
//
// What changes is remembered in a journal from the first savepoint on, so that ROLLBACK TO
// brings back what was pending and written at the savepoint ([State.Save],
// [State.RollbackTo]).
//
//	State.PendingFor(t).Add → … → State.Due → State.Unsent, sorted by table and key → State.SentAll
package txn
