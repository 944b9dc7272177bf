// Package stock says how guarded updates of one row go together: who of many that take from
// a counter, or fill it up, while something is left finds enough when they are served one
// after the other ([Serve]), what the counter has to hold for all of them ([Enough]), and
// whose failure tells that nobody would succeed ([Modest]). [Queues] are where they wait,
// one for each row that is wanted, and increments with them while that is so.
//
// It is arithmetic and memory only: it sends nothing, and knows no SQL and no connection.
// Whatever leaves the range in which it can be computed here is left to the server, each
// statement by itself.
package stock
