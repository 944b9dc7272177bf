package countermysql

import "sync/atomic"

// counters are what a connector counts of itself.
type counters struct {
	increments atomic.Int64 // statements that went to slots
	sums       atomic.Int64 // queries rewritten to sums
	exact      atomic.Int64 // statements that took the exact way
	fallbacks  atomic.Int64 // texts that could not be parsed or resolved
}

// Statistics are totals since the connector was made.
type Statistics struct {
	Increments int64 // increments taken by slots, or pending until COMMIT
	Sums       int64 // queries whose counters were read as sums
	Exact      int64 // statements that rolled up keys and ran verbatim
	Fallbacks  int64 // statements planned exact because they could not be parsed or resolved
}

// Statistics returns the connector's totals. It is safe for concurrent use.
func (c *Connector) Statistics() Statistics {
	return Statistics{c.stats.increments.Load(), c.stats.sums.Load(), c.stats.exact.Load(), c.stats.fallbacks.Load()}
}
