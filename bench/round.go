package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
)

// round is what the clients of a contestant did in their turn.
type round struct {
	perSecond float64
	p50, p99  time.Duration
	deadlocks float64 // per operation
	refusals  float64 // lock wait timeouts, and MariaDB's 1020, per operation
	mallocs   float64 // of the whole program, per operation

	clientCPU, serverCPU time.Duration // per operation
	idle                 float64       // share of the machine's processors

	batch   float64       // increments that shared a commit; 0: there is no group commit
	between time.Duration // from one such commit to the next

	// Of ways of counting.
	read       time.Duration // one, behind the writes
	rows       float64       // that it adds up
	rolling    float64       // per second while rolled up; 0: nothing can be
	rollingP99 time.Duration
}

// play lets all clients work for the length of a round, waits until what they
// have begun is done, and checks the counts. What was acknowledged in time
// makes the throughput; the latencies are of all that was begun.
func (c *contestant) play(ctx context.Context, length time.Duration) (r round, err error) {
	err = c.turn(ctx, func() error {
		r, err = c.race(ctx, length)
		if err == nil && c.workload.ways {
			err = c.addWayFigures(ctx, length, &r)
		}
		return err
	})
	if err == nil {
		err = c.check(ctx)
	}
	if err != nil {
		err = fmt.Errorf("%s, %s, %v: %w", c.workload.name, c, c.point, err)
	}
	return r, err
}

func (c *contestant) race(ctx context.Context, length time.Duration) (round, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var before, after runtime.MemStats
	runtime.GC() // nobody pays for what others have left

	var wg sync.WaitGroup
	start := make(chan time.Time)
	for _, cl := range c.clients {
		wg.Go(func() {
			cl.end = (<-start).Add(length)
			if err := cl.work(ctx); err != nil {
				cancel(err) // the others stop too
			}
		})
	}
	alone, err := c.sharedNow()
	if err != nil {
		return round{}, err
	}
	runtime.ReadMemStats(&before)
	used := effortNow(ctx)
	begin := time.Now()
	for range c.clients {
		start <- begin
	}
	wg.Wait()
	took := time.Since(begin)
	using := effortNow(ctx)
	runtime.ReadMemStats(&after)
	together, err := c.sharedNow()
	if err := cmp.Or(context.Cause(ctx), err); err != nil {
		return round{}, err
	}

	var r round
	var latencies []time.Duration
	for _, cl := range c.clients {
		r.perSecond += float64(cl.acknowledged)
		r.deadlocks += float64(cl.deadlocks)
		r.refusals += float64(cl.refusals)
		latencies = append(latencies, cl.latencies...)
	}
	r.perSecond /= length.Seconds()
	r.p50, r.p99 = percentile(latencies, 0.5), percentile(latencies, 0.99)
	done := float64(max(len(latencies), 1))
	r.deadlocks, r.refusals = r.deadlocks/done, r.refusals/done
	r.mallocs = float64(after.Mallocs-before.Mallocs) / done
	using.since(used, done, &r)
	together.since(alone, took, &r)
	return r, nil
}

// work is a client's round.
func (c *client) work(ctx context.Context) error {
	c.latencies, c.acknowledged, c.deadlocks, c.refusals = c.latencies[:0], 0, 0, 0
	for now := time.Now(); now.Before(c.end) && ctx.Err() == nil; {
		err := c.workload.do(ctx, c)
		if err != nil && !errors.Is(err, errGaveUp) {
			return err
		}
		done := time.Now()
		c.latencies = append(c.latencies, done.Sub(now))
		if err == nil && done.Before(c.end) {
			c.acknowledged++
		}
		now = done
	}
	return nil
}

// percentile sorts.
func percentile(d []time.Duration, p float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(int(float64(len(d))*p), len(d)-1)]
}

// median is of rounds.
func median(rounds []round, of func(round) float64) float64 {
	if len(rounds) == 0 {
		return math.NaN()
	}
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
