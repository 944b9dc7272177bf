package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

type request = Request[string]

var errLost = errors.New("lost")

// sender is a group whose batches are sent when the test says so.
type sender struct {
	Group[string]
	batches  chan []*request
	finished chan struct{}
	leaves   func() bool // nil: who leads waits for its batch
}

func newSender() *sender {
	return &sender{batches: make(chan []*request), finished: make(chan struct{})}
}

// call starts a caller; its Outcome comes when its unit has ended.
func (s *sender) call(ctx context.Context, u *request) <-chan Outcome {
	ended := make(chan Outcome, 1)
	go func() {
		ended <- s.Do(ctx, u, func(batch []*request) Sending {
			if batch[0] != u {
				panic("the leader's unit is not the first")
			}
			return Sending{Leave: s.leaves, Run: func() {
				s.batches <- batch
				<-s.finished
			}}
		})
	}()
	synctest.Wait()
	return ended
}

// next is the batch that is being sent; nil if there is none.
func (s *sender) next() []*request {
	synctest.Wait()
	select {
	case batch := <-s.batches:
		return batch
	default:
		return nil
	}
}

func (s *sender) finish() {
	s.finished <- struct{}{}
	synctest.Wait()
}

func units(n int) []*request {
	all := make([]*request, n)
	for i := range all {
		all[i] = NewRequest("", fmt.Sprint("unit ", i))
	}
	return all
}

// soon is a Outcome that is there.
func soon(t *testing.T, ended <-chan Outcome) Outcome {
	t.Helper()
	synctest.Wait()
	select {
	case v := <-ended:
		return v
	default:
		require.Fail(t, "the caller still waits")
		return Outcome{}
	}
}

func waits(t *testing.T, ended <-chan Outcome) {
	t.Helper()
	synctest.Wait()
	require.Empty(t, ended)
}

// idle requires that the group serves the next caller at once.
func (s *sender) idle(t *testing.T) {
	t.Helper()
	u := NewRequest("", "another")
	ended := s.call(t.Context(), u)
	require.Equal(t, []*request{u}, s.next())
	s.finish()
	require.Equal(t, Outcome{}, soon(t, ended))
}

// TestGroupOrder proves that a lone caller's unit is sent at once, that those
// who come meanwhile go together in their order, and that each gets its own Outcome.
func TestGroupOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender()
		s.idle(t)
		u := units(5)
		var ended []<-chan Outcome
		for i := range u {
			ended = append(ended, s.call(t.Context(), u[i]))
		}
		require.Equal(t, u[:1], s.next())
		require.Nil(t, s.next(), "one batch at a time")
		s.finish()
		require.Equal(t, Outcome{}, soon(t, ended[0]))
		require.Equal(t, u[1:], s.next())
		for _, e := range ended[1:] {
			waits(t, e)
		}
		late := NewRequest("", "late")
		lateEnded := s.call(t.Context(), late)
		failure := errors.New("one of them")
		u[2].Outcome.Err, u[3].Outcome.Alone = failure, true
		s.finish()
		for i, want := range []Outcome{1: {}, 2: {Err: failure}, 3: {Alone: true}, 4: {}} {
			if i > 0 {
				require.Equal(t, want, soon(t, ended[i]))
			}
		}
		require.Equal(t, []*request{late}, s.next())
		s.finish()
		require.Equal(t, Outcome{}, soon(t, lateEnded))
		s.idle(t)
	})
}

// TestGroupWithdraws proves that a caller whose context ends returns at once:
// its unit is not sent if it waited, and goes on without it if it was under way.
func TestGroupWithdraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender()
		u := units(4)
		first := s.call(t.Context(), u[0])
		var cancels []func()
		var ended []<-chan Outcome
		for _, w := range u[1:] {
			ctx, cancel := context.WithCancel(t.Context())
			cancels = append(cancels, cancel)
			ended = append(ended, s.call(ctx, w))
		}
		require.Equal(t, u[:1], s.next())
		cancels[1]() // waiting
		require.Equal(t, Outcome{Err: context.Canceled}, soon(t, ended[1]))
		s.finish()
		soon(t, first)
		require.Equal(t, []*request{u[1], u[3]}, s.next())
		cancels[2]() // under way
		require.Equal(t, Outcome{Err: context.Canceled}, soon(t, ended[2]))
		waits(t, ended[0])
		cancels[0]() // leads: its connection is in use
		waits(t, ended[0])
		s.finish()
		require.Equal(t, Outcome{}, soon(t, ended[0]))
		s.idle(t)
	})
}

// TestGroupLeaves proves that a caller whose context ends while it leads returns at once
// where it may leave its batch, which goes on, and that a batch that is just over gives it
// its Outcome.
func TestGroupLeaves(t *testing.T) {
	for _, over := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newSender()
			u := units(4)
			ctx, cancel := context.WithCancel(t.Context())
			first := s.call(t.Context(), u[0])
			s.leaves = func() bool { return !over }
			leads, follows := s.call(ctx, u[1]), s.call(t.Context(), u[2])
			s.next()
			s.finish()
			soon(t, first)
			require.Equal(t, u[1:3], s.next())
			cancel()
			if over {
				waits(t, leads)
			} else {
				require.Equal(t, Outcome{Err: context.Canceled}, soon(t, leads))
			}
			waits(t, follows)
			later := s.call(t.Context(), u[3])
			require.Nil(t, s.next(), "one batch at a time")
			s.finish()
			if over {
				require.Equal(t, Outcome{}, soon(t, leads))
			}
			require.Equal(t, Outcome{}, soon(t, follows))
			require.Equal(t, u[3:], s.next())
			s.finish()
			require.Equal(t, Outcome{}, soon(t, later))
			s.idle(t)
		})
	}
}

// TestGroupPassesTheLead proves that a caller whose context ends in the very
// moment in which it is to lead hands that on.
func TestGroupPassesTheLead(t *testing.T) {
	for range 50 { // it is left to chance which of the two it notices
		synctest.Test(t, func(t *testing.T) {
			s := newSender()
			u := units(3)
			ctx, cancel := context.WithCancel(t.Context())
			first := s.call(t.Context(), u[0])
			canceled := s.call(ctx, u[1])
			last := s.call(t.Context(), u[2])
			s.next()
			s.mu.Lock() // until both are on their way
			s.finished <- struct{}{}
			cancel()
			s.mu.Unlock()
			batch := s.next()
			if batch[0] == u[1] {
				require.Equal(t, u[1:], batch)
			} else {
				require.Equal(t, u[2:], batch)
				require.Equal(t, Outcome{Err: context.Canceled}, soon(t, canceled))
			}
			s.finish()
			require.Equal(t, Outcome{}, soon(t, first))
			require.Equal(t, Outcome{}, soon(t, last))
			s.idle(t)
		})
	}
}

// TestGroupAgain proves that units that were not sent keep their place before
// those that came later, and that one whose caller has left is forgotten.
func TestGroupAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender()
		u := units(5)
		ctx, cancel := context.WithCancel(t.Context())
		var ended []<-chan Outcome
		for i := range 4 {
			if i == 2 {
				ended = append(ended, s.call(ctx, u[i]))
				continue
			}
			ended = append(ended, s.call(t.Context(), u[i]))
		}
		s.next()
		s.finish()
		soon(t, ended[0])
		require.Equal(t, u[1:4], s.next())
		ended = append(ended, s.call(t.Context(), u[4]))
		cancel()
		require.Equal(t, Outcome{Err: context.Canceled}, soon(t, ended[2]))
		u[1].Outcome.Err = errors.New("the leader's connection is gone")
		u[2].Outcome.Again, u[3].Outcome.Again = true, true
		s.finish()
		require.Error(t, soon(t, ended[1]).Err)
		require.Equal(t, []*request{u[3], u[4]}, s.next())
		s.finish()
		require.Equal(t, Outcome{}, soon(t, ended[3]))
		require.Equal(t, Outcome{}, soon(t, ended[4]))
		s.idle(t)
	})
}

// TestGroupAgainWithoutCallers proves that nobody who has left is made leader.
func TestGroupAgainWithoutCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender()
		u := units(3)
		ctx, cancel := context.WithCancel(t.Context())
		first := s.call(t.Context(), u[0])
		second := s.call(t.Context(), u[1])
		third := s.call(ctx, u[2])
		s.next()
		s.finish()
		soon(t, first)
		require.Equal(t, u[1:], s.next())
		cancel()
		require.Equal(t, Outcome{Err: context.Canceled}, soon(t, third))
		u[2].Outcome.Again = true
		s.finish()
		soon(t, second)
		s.idle(t)
	})
}

// TestGroupSurvivesPanic proves that a panic of who leads (an interceptor's)
// reaches its caller, is an error to the others, and leaves the group usable.
func TestGroupSurvivesPanic(t *testing.T) {
	for _, leave := range []func() bool{nil, func() bool { return true }} {
		synctest.Test(t, func(t *testing.T) { groupSurvivesPanic(t, leave) })
	}
}

func groupSurvivesPanic(t *testing.T, leave func() bool) {
	s := newSender()
	u := units(3)
	first := s.call(t.Context(), u[0])
	s.next()
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		s.Do(t.Context(), u[1], func([]*request) Sending {
			return Sending{Leave: leave, Run: func() { panic("oh") }, Lost: errLost}
		})
	}()
	synctest.Wait()
	third := s.call(t.Context(), u[2])
	s.finish()
	soon(t, first)
	require.Equal(t, "oh", <-panicked)
	require.ErrorIs(t, soon(t, third).Err, errLost)
	s.idle(t)
}

// TestGroupByAffinity proves that a batch holds units of one kin, in their order, and that
// the others are not forgotten.
func TestGroupByAffinity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender()
		all := units(6)
		var ended []<-chan Outcome
		for i, u := range all {
			u.Affinity = []string{"a", "a", "b", "a", "b", "c"}[i]
			ended = append(ended, s.call(t.Context(), u))
		}
		for _, want := range [][]*request{{all[0]}, {all[1], all[3]}, {all[2], all[4]}, {all[5]}} {
			require.Equal(t, want, s.next())
			s.finish()
		}
		for _, e := range ended {
			soon(t, e)
		}
		s.idle(t)
	})
}

// TestGroupEnter proves that who sends by itself keeps others waiting until it
// leaves, and is let in neither while a batch is under way nor after one of several.
func TestGroupEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender()
		l := s.Enter()
		require.NotZero(t, l)
		require.Zero(t, s.Enter())
		u := units(4)
		first, second := s.call(t.Context(), u[0]), s.call(t.Context(), u[1])
		require.Nil(t, s.next())
		s.Leave(l)
		require.Equal(t, u[:2], s.next())
		require.Zero(t, s.Enter())
		s.finish()
		require.Equal(t, Outcome{}, soon(t, first))
		require.Equal(t, Outcome{}, soon(t, second))
		require.Zero(t, s.Enter())
		alone := s.call(t.Context(), u[2])
		require.Equal(t, u[2:3], s.next())
		s.finish()
		require.Equal(t, Outcome{}, soon(t, alone))
		l = s.Enter()
		require.NotZero(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		third := s.call(ctx, u[3])
		cancel()
		require.Equal(t, Outcome{Err: context.Canceled}, soon(t, third))
		s.Leave(l)
		s.idle(t)
	})
}

// TestGroupBounds proves that a batch holds no more than its bounds allow,
// where equal parts count once, and that a unit beyond them goes by itself.
func TestGroupBounds(t *testing.T) {
	parts := func(prefix string, n, size int) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf("%s %d %s", prefix, i, strings.Repeat("x", size))
		}
		return all
	}
	cases := map[string]struct {
		units   [][]string
		batches []int // how many units each
	}{
		"parts":             {[][]string{parts("a", 200, 1), parts("b", 200, 1), parts("c", 101, 1), parts("d", 1, 1)}, []int{2, 2}},
		"just as many":      {[][]string{parts("a", 200, 1), parts("b", 200, 1), parts("c", 100, 1)}, []int{3}},
		"equal parts":       {[][]string{parts("a", 400, 1), parts("a", 400, 1), parts("a", 400, 1)}, []int{3}},
		"bytes":             {[][]string{parts("a", 1, 600_000), parts("b", 1, 600_000), parts("c", 1, 100)}, []int{1, 2}},
		"equal bytes":       {[][]string{parts("a", 1, 600_000), parts("a", 1, 600_000)}, []int{2}},
		"too big, first":    {[][]string{parts("a", 1, 2_000_000), parts("b", 1, 1)}, []int{1, 1}},
		"too big, not last": {[][]string{parts("b", 1, 1), parts("a", 501, 1), parts("c", 1, 1)}, []int{1, 1, 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSender()
				blocks := s.call(t.Context(), NewRequest("", "first"))
				s.next()
				var all []*request
				var ended []<-chan Outcome
				for _, p := range c.units {
					u := NewRequest("", p...)
					all = append(all, u)
					ended = append(ended, s.call(t.Context(), u))
				}
				s.finish()
				soon(t, blocks)
				for _, n := range c.batches {
					require.Equal(t, all[:n], s.next())
					all = all[n:]
					s.finish()
				}
				for _, e := range ended {
					soon(t, e)
				}
				s.idle(t)
			})
		})
	}
	require.True(t, NewRequest("", parts("a", maxBatchParts, 1)...).Fits())
	require.False(t, NewRequest("", parts("a", maxBatchParts+1, 1)...).Fits())
	require.False(t, NewRequest("", parts("a", 1, maxBatchBytes)...).Fits())
}

// TestGroupStress proves that under load, cancellations and failures no unit is
// sent twice or forgotten, and that a caller who is told success was served.
func TestGroupStress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // on a busy machine a batch would seem to have stalled
		const clients, calls = 32, 150
		var g Group[string]
		var busy atomic.Bool
		var mu sync.Mutex
		served := map[*request]int{}
		var sum, acknowledged, unknown atomic.Int64
		failure := errors.New("failed")
		run := func(batch []*request) {
			if !busy.CompareAndSwap(false, true) {
				t.Error("two batches at once")
			}
			defer busy.Store(false)
			if rand.IntN(4) == 0 {
				time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
			}
			kind := rand.IntN(10)
			for i, u := range batch {
				switch {
				case kind == 0 && i == 0, kind == 1:
					u.Outcome.Err = failure
				case kind == 0:
					u.Outcome.Again = true
				case rand.IntN(10) == 0:
					u.Outcome.Alone = true
				default:
					mu.Lock()
					served[u]++
					mu.Unlock()
					sum.Add(1)
				}
			}
		}
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for range calls {
					ctx, cancel := context.WithCancel(t.Context())
					if rand.IntN(3) == 0 {
						time.AfterFunc(time.Duration(rand.IntN(300))*time.Microsecond, cancel)
					}
					u := NewRequest("", fmt.Sprint(rand.IntN(5)))
					var l Leadership
					if rand.IntN(2) == 0 {
						l = g.Enter()
					}
					if l != 0 {
						if !busy.CompareAndSwap(false, true) {
							t.Error("two batches at once")
						}
						busy.Store(false)
						g.Leave(l)
						cancel()
						continue
					}
					v := g.Do(ctx, u, func(batch []*request) Sending {
						wg.Add(1) // it may go on without its leader
						var left atomic.Bool
						return Sending{
							Run: func() {
								defer wg.Done()
								run(batch)
								left.CompareAndSwap(false, true)
							},
							Leave: func() bool { return left.CompareAndSwap(false, true) },
						}
					})
					mu.Lock()
					n := served[u]
					mu.Unlock()
					switch {
					case v.Again:
						t.Error("nobody may be told again")
					case v.Err == nil && !v.Alone:
						acknowledged.Add(1)
						if n != 1 {
							t.Errorf("acknowledged, but sent %d times", n)
						}
					case errors.Is(v.Err, context.Canceled):
						unknown.Add(1)
					case n != 0:
						t.Errorf("%v, but sent", v)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		for u, n := range served {
			if n != 1 {
				t.Errorf("%v was sent %d times", u.parts, n)
			}
		}
		synctest.Wait() // the last batch may finish after its leader has left
		require.Zero(t, g.lead)
		require.Empty(t, g.waiting)
		require.LessOrEqual(t, acknowledged.Load(), sum.Load())
		require.LessOrEqual(t, sum.Load(), acknowledged.Load()+unknown.Load())
	})
}

// TestGroupStalled proves that a batch that takes too long, as on a connection
// that is dead, does not keep the others waiting, and that the lead it has lost
// does not come back with it.
func TestGroupStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender()
		u := units(5)
		first := s.call(t.Context(), u[0])
		require.Equal(t, u[:1], s.next())
		second, third := s.call(t.Context(), u[1]), s.call(t.Context(), u[2])
		require.Nil(t, s.next())
		time.Sleep(stalled + time.Millisecond)
		require.Equal(t, u[1:3], s.next(), "they go without it")
		fourth := s.call(t.Context(), u[3])
		s.finish() // one of both batches
		s.finish()
		synctest.Wait()
		for _, ended := range []<-chan Outcome{first, second, third} {
			require.Equal(t, Outcome{}, soon(t, ended))
		}
		require.Equal(t, u[3:4], s.next())
		fifth := s.call(t.Context(), u[4])
		require.Nil(t, s.next(), "one batch at a time again")
		s.finish()
		require.Equal(t, u[4:], s.next())
		s.finish()
		require.Equal(t, Outcome{}, soon(t, fourth))
		require.Equal(t, Outcome{}, soon(t, fifth))
		s.idle(t)
	})
}
