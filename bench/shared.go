package main

import (
	"time"

	"github.com/countermysql/countermysql"
)

// shared are the commits that the group commit has made up to a moment, and the
// increments in them.
type shared struct{ commits, increments int64 }

// sharedNow is zero for those who have no group commit.
func (c *contestant) sharedNow() (s shared, err error) {
	if !c.peer.ours() {
		return s, nil
	}
	stats, err := countermysql.Stats(c.sql().db)
	for _, n := range stats.Groups.Counts {
		s.commits += n
	}
	s.increments = stats.Groups.Sum
	return s, err
}

// since tells what a commit held, and how long it took from one to the next.
func (s shared) since(before shared, took time.Duration, r *round) {
	if n := s.commits - before.commits; n > 0 {
		r.batch, r.between = float64(s.increments-before.increments)/float64(n), took/time.Duration(n)
	}
}
