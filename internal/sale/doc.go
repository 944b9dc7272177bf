// Package sale runs statements of one row that need its value together, those outside
// transactions, which would wait for each other's lock and COMMIT. While one is under way the
// others gather. Guarded updates go as one statement that changes the row if there is enough for
// all. If there is not, they are served one after the other, in one transaction that has the row
// locked. What can't be one statement shares such a transaction, each by its own. As all of them
// wait at the same time, that is an order in which the server could have run them; who is refused
// is so because nothing was left for him at a moment of his call. What nobody can go with is not
// kept waiting.
//
// Increments of the row come along for as long as such statements come. In a slot they would be
// folded by the next of these, and wait for its lock.
//
// It reads no text of the application's, and how many are served internal/stock says. What
// can't be told of all of them together is left to each by itself.
//
//	[Queues.Run] → Do → sell: trySale for all, or Start → serve → Finish
//	               Do → each: Start → one after the other → Finish
//
// Of UPDATE item SET stock = stock - 1 WHERE id = 7 AND stock >= 1, ten times at once, one is
// sent, and then one of the other nine: UPDATE item SET stock = stock - 9 … AND stock >= 9.
package sale
