// Package stats counts what the driver does, and tells it to whoever asks: to the
// application, by the root's Stats, and to metrics. It knows no connection, no statement
// and no table: who does something says so, and nothing is asked for it.
//
//	s.Increments.Add(1); s.Group(3); s.Exactly("it reads a counter") → s.Snapshot() → Statistics
//
// After that, Statistics has one increment, a group of three under the bound 4, and one
// statement that ran the exact way, with its reason.
package stats
