// Package session is one session of the server's: its connection, its settings, its
// transactions, and what is sent on it by the driver itself. It knows no plan's class and no
// slots. Each of its types knows those above it alone, and the compiler keeps that:
//
//	[Wire]          the connection, and the status flags that its answers bring
//	[Settings]      what statements depend on, and the clauses that ours begin with for that
//	[Environment]   the settings that hold, and what may have changed them
//	[Transactions]  the one that is open, and what was said of the next; sends nothing
//	[Session]       what is sent by us, and what its answers do to the transaction:
//
//	[Open], [Session.Close]         it begins as the DSN makes it
//	[Session.Do], [Session.Read]    a statement or a query of ours, in the session
//	[Session.Outside]               a query of ours on a look-up connection: what is committed
//	[Session.ReadSettings]          asks for the [Settings], behind what may have changed them
//	[Session.Known]                 what is known of the schema, and what the server says of a table
//	[Session.Failed]                notes an error, which may have ended the transaction
//	[Session.Start], [Again]        a transaction of ours
//
// Every error of the server's goes through Failed: the server does not tell with it whether
// the transaction is over, and what comes next would be committed by itself. Where that is so,
// the transaction is forgotten ([Session.Tx] is nil), or the connection is given up
// ([Session.Lose]). Whoever sends on the Wire himself, calls it himself.
package session
