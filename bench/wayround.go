package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// counted is what each way of counting has beside the others: see docs/ways-of-counting.md.
var counted = []workload{{
	name: waysName, title: "Ways of counting: one hot counter", axis: clientsAxis, peers: wayPeers(), ways: true,
	about: "An increment of one hot counter, autocommit, in each way of [ways-of-counting.md](../ways-of-counting.md). Derived: an INSERT of a row that is counted, the same as of the rows that are counted on read, without a foreign key.",
	points: func(s settings) (points []point) {
		for _, n := range s.ways {
			points = append(points, point{x: n, clients: n, slots: defaultSlots, counters: 1})
		}
		return points
	},
	do: func(ctx context.Context, c *client) error { return c.increment(ctx, hotID) },
}}

const waysName = "ways"

// mostReads are enough to know what a read takes.
const mostReads = 200

// addWayFigures adds to a round of writes what a read takes behind them, and what the same writes
// do while they are rolled up.
func (c *contestant) addWayFigures(ctx context.Context, length time.Duration, r *round) error {
	s := c.store.(wayStore)
	rows, err := s.rows(ctx)
	if err != nil {
		return err
	}
	var reads []time.Duration
	for end := time.Now().Add(length / 4); len(reads) == 0 || len(reads) < mostReads && time.Now().Before(end); {
		begin := time.Now()
		if _, err := s.read(ctx, hotID); err != nil {
			return err
		}
		reads = append(reads, time.Since(begin))
	}
	r.rows, r.read = float64(rows), percentile(reads, 0.5)
	if wayOf(c.peer).rollsUp() {
		rolling, err := c.raceRollups(ctx, length)
		if err != nil {
			return err
		}
		r.rolling, r.rollingP99 = rolling.perSecond, rolling.p99
	}
	return s.flush(ctx)
}

// raceRollups is a race in which one rollup follows another.
func (c *contestant) raceRollups(ctx context.Context, length time.Duration) (round, error) {
	var over atomic.Bool
	rolled := make(chan error, 1)
	go func() {
		for !over.Load() {
			if err := c.store.(wayStore).rollUp(ctx, hotID); err != nil && !refused(err) {
				rolled <- err
				return
			}
		}
		rolled <- nil
	}()
	r, err := c.race(ctx, length)
	over.Store(true)
	return r, errors.Join(err, <-rolled)
}
