// Package sale runs guarded updates of one row together, those outside transactions, which
// would wait for each other's lock and COMMIT. While one is under way the others gather, and
// go as one statement that changes the row if there is enough for all. If there is not, they
// are served one after the other, in one transaction that has the row locked. As all of them
// wait at the same time, that is an order in which the server could have run them; who is
// refused is so because nothing was left for him at a moment of his call.
//
// It knows no text of the application's, and how many are served internal/stock says. What
// can't be told of all of them together is left to each by itself.
//
//	[Queues.Run] → Do → sell: trySale for all, or Start → serve → Finish
//
// Of UPDATE item SET stock = stock - 1 WHERE id = 7 AND stock >= 1, ten times at once, one is
// sent, and then one of the other nine: UPDATE item SET stock = stock - 9 … AND stock >= 9.
package sale
