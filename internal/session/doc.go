// Package session is one session of the server's: its settings, its status, its open
// transaction, and what is sent on it by the driver itself. It knows no plan of a statement
// and no slots.
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
// ([Session.Lose]). Whoever sends on Raw himself, calls it himself.
package session
