package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// measured is a workload with its results.
type measured struct {
	*workload
	points []measuredPoint
	left   []string // who could not take part
}

type measuredPoint struct {
	point   point
	results []result
}

// result is a contestant's, when it is gone.
type result struct {
	peer   peer
	server string // "": Redis
	rounds []round
}

func (r result) perSecond() float64 {
	return median(r.rounds, func(r round) float64 { return r.perSecond })
}

// duration is the median of a figure of the rounds.
func (r result) duration(of func(round) time.Duration) time.Duration {
	return time.Duration(median(r.rounds, func(r round) float64 { return float64(of(r)) }))
}

func (r result) p50() time.Duration { return r.duration(func(r round) time.Duration { return r.p50 }) }
func (r result) p99() time.Duration { return r.duration(func(r round) time.Duration { return r.p99 }) }
func (r result) refusals() float64 {
	return median(r.rounds, func(r round) float64 { return r.refusals })
}
func (r result) mallocs() float64 {
	return median(r.rounds, func(r round) float64 { return r.mallocs })
}
func (r result) clientCPU() time.Duration {
	return r.duration(func(r round) time.Duration { return r.clientCPU })
}
func (r result) serverCPU() time.Duration {
	return r.duration(func(r round) time.Duration { return r.serverCPU })
}
func (r result) idle() float64 {
	return median(r.rounds, func(r round) float64 { return r.idle })
}
func (r result) batch() float64 {
	return median(r.rounds, func(r round) float64 { return r.batch })
}
func (r result) between() time.Duration {
	return r.duration(func(r round) time.Duration { return r.between })
}
func (r result) deadlocks() float64 {
	return median(r.rounds, func(r round) float64 { return r.deadlocks })
}

func (r result) read() time.Duration {
	return r.duration(func(r round) time.Duration { return r.read })
}
func (r result) rows() float64 {
	return median(r.rounds, func(r round) float64 { return r.rows })
}
func (r result) rolling() float64 {
	return median(r.rounds, func(r round) float64 { return r.rolling })
}
func (r result) rollingP99() time.Duration {
	return r.duration(func(r round) time.Duration { return r.rollingP99 })
}

// anyDeadlock is not a median's to tell.
func (r result) anyDeadlock() bool {
	return slices.ContainsFunc(r.rounds, func(r round) bool { return r.deadlocks > 0 })
}

// find returns the result of a peer at a point.
func (m measured) find(x int, server string, p peer) (result, bool) {
	for _, mp := range m.points {
		if mp.point.x != x {
			continue
		}
		for _, r := range mp.results {
			if r.peer == p && (r.server == server || p.redis()) {
				return r, true
			}
		}
	}
	return result{}, false
}

// What a round costs beside its length: its share of setting up, warming up,
// checking, and waiting for what clients have begun. As measured on two cores;
// where it is wrong the run is longer or shorter than its budget.
const roundOverhead = 250 * time.Millisecond

const (
	warmUpShare   = 0.3              // of a round
	warmUpTable   = time.Millisecond // for each table: by then nearly each has been met, and its text planned
	goalFactor    = 4                // a point where something must be shown has rounds of so many times the usual length
	shortestRound = 50 * time.Millisecond
	longestRound  = 2 * time.Second // a longer one tells no more
)

// schedule is how many rounds all contestants play, and how long they are.
type schedule struct {
	rounds      int
	usual, goal time.Duration
}

// newSchedule makes the run fit into its budget.
func newSchedule(s settings, all *servers, chosen []*workload) (sched schedule) {
	usual := 0 // the rounds, as so many usual ones
	for _, w := range chosen {
		for _, p := range w.points(s) {
			list, _ := contestants(all, w, p)
			n := len(list) * w.roundsOf(s)
			sched.rounds += n
			if w.shows(p) {
				n *= goalFactor
			}
			if w.ways {
				n *= 2 // once more, rolled up
			}
			usual += n
		}
	}
	length := (s.budget - time.Duration(sched.rounds)*roundOverhead) / time.Duration(max(usual, 1))
	within := func(d time.Duration) time.Duration {
		return max(min(d.Round(10*time.Millisecond), longestRound), shortestRound)
	}
	sched.usual, sched.goal = within(length), within(goalFactor*length)
	return sched
}

func (w *workload) roundsOf(s settings) int { return s.rounds * max(w.rounds, 1) }

// shows reports whether something must be shown at a point, be it for who has to choose a way.
func (w *workload) shows(p point) bool {
	return w.ways || slices.ContainsFunc(goals, func(g goal) bool { return g.workload == w.name && g.x == p.x })
}

func (s schedule) length(w *workload, p point) time.Duration {
	if w.shows(p) {
		return s.goal
	}
	return s.usual
}

func measureAll(ctx context.Context, s settings, sched schedule, all *servers, chosen []*workload, screen *screen) (list []measured, err error) {
	for _, w := range chosen {
		m := measured{workload: w}
		for _, p := range w.points(s) {
			players, left := contestants(all, w, p)
			m.left = append(m.left, left...)
			if len(players) == 0 {
				continue
			}
			mp, err := measurePoint(ctx, w.roundsOf(s), sched.length(w, p), players, screen)
			if err != nil {
				return nil, err
			}
			m.points = append(m.points, mp)
		}
		slices.Sort(m.left)
		m.left = slices.Compact(m.left)
		screen.workload(m)
		list = append(list, m)
	}
	return list, nil
}

// setUps is how many contestants are set up at once: each opens hundreds of connections.
const setUps = 4

// measurePoint lets the contestants take turns: A B C A B C.
func measurePoint(ctx context.Context, rounds int, length time.Duration, list []*contestant, screen *screen) (mp measuredPoint, err error) {
	w := list[0].workload
	mp.point = list[0].point
	defer func() {
		for _, c := range list {
			err = errors.Join(err, c.tearDown(ctx))
		}
	}()
	screen.setUp(w, mp.point)
	var group errgroup.Group
	group.SetLimit(setUps)
	for _, c := range list {
		group.Go(func() error {
			if err := c.setUp(ctx); err != nil {
				return fmt.Errorf("%s, %s, %v: setting up: %w", w.name, c, mp.point, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return mp, err
	}
	for i := range rounds + 1 {
		for _, c := range list {
			if i == 0 { // warms up
				share := time.Duration(math.Ceil(float64(length) * warmUpShare))
				if _, err := c.play(ctx, max(share, time.Duration(mp.point.tables)*warmUpTable)); err != nil {
					return mp, err
				}
				continue
			}
			r, err := c.play(ctx, length)
			if err != nil {
				return mp, err
			}
			c.rounds = append(c.rounds, r)
			screen.round(c, i, rounds, r)
		}
	}
	for _, c := range list {
		mp.results = append(mp.results, result{peer: c.peer, server: c.where(), rounds: c.rounds})
	}
	return mp, nil
}
