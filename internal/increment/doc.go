// Package increment counts in one session: an increment goes to the base row, as long as it
// meets no other, or to a slot; at once, together with those of other callers, or, inside a
// transaction, when that is committed. It knows no text of the application's and no plan but
// that of the increment, and gives nobody an answer but how many rows were counted. What it
// can't count, it says, and has not done ([After]).
//
//	[Caller.CountOne]      one row, outside a transaction: by the text that its plan has made, if nobody
//	                       is to go with it, or together with others
//	[Caller.Count]         any other: at once, or pending until COMMIT
//	[Caller.KeepPromises]  pending increments whose rows nobody has looked for yet
//	[Caller.Send]          what is pending, right before COMMIT: what is taken of reserved rows,
//	                       then all else, in order
//	[Caller.Leading]       a batch on the caller's connection, which a deputy takes over if his
//	                       context ends
//
//	CountOne → fillTogether → together → sendRequests → sendBatch → sendUpsert
//
// UPDATE post SET likes = likes + 1 WHERE id = 7 of five callers at a time is one UPDATE of
// the base row, and, as the others have met, another one by four, or, where somebody else has that
// row locked, an INSERT … ON DUPLICATE KEY UPDATE of a slot; of three, one UPDATE behind the other.
package increment
