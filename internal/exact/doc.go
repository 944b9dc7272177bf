// Package exact runs statements that need a counter's value, each as it was written: the base
// rows concerned are locked, their slots added to them, and then they say all. It knows what
// has to be folded by the plan, and how a statement is sent by a [Statement].
//
//	[Runner.RunExactly]    behind others of its row, or together with them (internal/sale), or
//	                       as it was written, where the transaction has locked the row, which has
//	                       no slots (internal/fold: HasLocked), or
//	                       inside a transaction from a part of the value that has enough, or
//	                       in one round trip, with a guard that fails if a row has slots, and locks no
//	                       gap where it may wait behind that (internal/session: OutsideGaps), or
//	                       first, and looked at behind (internal/fold: HadSlots), or
//	                       folded before, in the open transaction or one of its own, and sent again
//	                       if a row that it has written, or passed by, got slots meanwhile (internal/fold: Between)
//	[Runner.Alone]         the last, for what is a transaction by itself
//	[Runner.RunBeside]     an increment, with those others
//
// UPDATE item SET stock = stock - 1 WHERE id = 7 AND stock >= 1 inside a transaction locks one
// of the row's reserved rows, if it has some, and is pending then (internal/increment sends it); or
// it is sent as it is, if the base row has enough; only what finds neither needs the whole.
//
// UPDATE post SET likes = 0 WHERE id = 7 is sent with a guard, which says in the same round
// trip whether there are slots. If there are: START TRANSACTION, SELECT … FOR UPDATE of the
// row, one UPDATE of it and one DELETE of its slots, the statement, COMMIT.
package exact
