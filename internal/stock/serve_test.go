package stock

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// oneByOne is what the server would do with the updates, one after the other.
func oneByOne(r Row, wants []Want) (answers []Answer, value int64) {
	value = r.Value
	for _, w := range wants {
		holds := w.Limit == Unlimited || w.Delta < 0 && value >= r.Base+w.Limit || w.Delta > 0 && value <= r.Base+w.Limit
		switch next := value + w.Delta; {
		case !holds:
			answers = append(answers, Refused)
		case next < r.Least || next > r.Most:
			answers = append(answers, Failing)
		default:
			answers, value = append(answers, Served), next
		}
	}
	return answers, value
}

// some are a row and updates of it, in small numbers so that limits are met.
func some() (Row, []Want) {
	r := Row{Value: rand.Int64N(40) - 10, Base: rand.Int64N(9) - 4, Least: -15 + rand.Int64N(20)}
	r.Most = r.Least + rand.Int64N(60)
	sign, unlimited := int64(1-2*rand.IntN(2)), rand.IntN(4) == 0
	wants := make([]Want, 1+rand.IntN(6))
	for i := range wants {
		if wants[i] = (Want{Delta: sign * (1 + rand.Int64N(5)), Limit: rand.Int64N(50) - 20}); unlimited {
			wants[i].Limit = Unlimited
		}
	}
	return r, wants
}

// TestServe proves that each gets the answer that a serial execution gives him.
func TestServe(t *testing.T) {
	seen := map[Answer]int{}
	for range 50_000 {
		r, wants := some()
		want, value := oneByOne(r, wants)
		got, sum := Serve(r, wants)
		require.Equal(t, want, got, "%+v %+v", r, wants)
		require.Equal(t, value, r.Value+sum, "%+v %+v", r, wants)
		for _, a := range got {
			seen[a]++
		}
	}
	require.Len(t, seen, 3)
}

// TestEnough proves that the limit of all together is neither too strict nor too lax.
func TestEnough(t *testing.T) {
	seen := map[bool]int{}
	for range 50_000 {
		r, wants := some()
		r.Least, r.Most = -MostLimit, MostLimit
		answers, _ := oneByOne(r, wants)
		want := true
		for _, a := range answers {
			want = want && a == Served
		}
		all := Enough(wants)
		require.Equal(t, want, all.meets(r.Value, r.Base), "%+v %+v", r, wants)
		seen[want]++
	}
	require.Len(t, seen, 2)
	require.Equal(t, Want{-3, 5}, Enough([]Want{{-1, 5}, {-2, 2}}), "the threshold of the first is above what both take")
}

// TestModest proves that where one is refused, all are.
func TestModest(t *testing.T) {
	refused := 0
	for range 50_000 {
		r, wants := some()
		if wants[Modest(wants)].meets(r.Value, r.Base) {
			continue
		}
		refused++
		for _, w := range wants {
			require.False(t, w.meets(r.Value, r.Base), "%+v %+v", r, wants)
		}
	}
	require.NotZero(t, refused)
}

// TestQueues proves that all who are in a row's queue share it, that those who may do without
// come only while those are there who have to wait, or were a moment ago, and go on, and that few queues are
// left behind them.
func TestQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queues[int]
		time.Sleep(time.Second)
		require.False(t, q.Some())
		require.Nil(t, q.Beside("a"))
		a, b := q.Enter("a"), q.Enter("b")
		require.True(t, q.Some())
		require.NotSame(t, a, b)
		require.Same(t, a, q.Enter("a"))
		require.Same(t, a, q.Beside("a"))
		q.Leave(a, true)
		q.Leave(a, false)
		time.Sleep(2 * moment)
		require.Same(t, a, q.Beside("a"), "one is there")
		q.Leave(a, false)
		q.Leave(a, true)
		require.Nil(t, q.Beside("a"), "one was there, alone")
		busy := a.Group.Enter()
		time.Sleep(moment / 2)
		require.Same(t, a, q.Beside("a"), "one was there a moment ago")
		q.Leave(a, false)
		time.Sleep(moment)
		require.Nil(t, q.Beside("a"), "that is over")
		a.Group.Leave(busy)
		lead := b.Group.Enter()
		require.NotZero(t, lead)
		time.Sleep(stuck)
		require.Same(t, b, q.Beside("b"))
		q.Leave(b, false)
		time.Sleep(moment)
		require.Nil(t, q.Beside("b"), "it takes long")
		b.Group.Leave(lead)
		require.Same(t, b, q.Beside("b"))
		q.Leave(b, false)
		q.Leave(b, true)
		time.Sleep(time.Second)
		require.False(t, q.Some())
		for i := range 9 * manyQueues {
			q.Leave(q.Enter(fmt.Sprint(i)), true)
			time.Sleep(moment)
		}
		require.LessOrEqual(t, len(q.all), manyQueues+int(lately/moment))
	})
}

// TestQueuesTogether proves that queues of many rows can be entered and left at the same time.
func TestQueuesTogether(t *testing.T) {
	var q Queues[int]
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 1000 {
				row := fmt.Sprint((i + n) % 90)
				q.Leave(q.Enter(row), true)
				if of := q.Beside(row); of != nil {
					q.Leave(of, false)
				}
			}
		})
	}
	all.Wait()
	for _, of := range q.all {
		require.Zero(t, of.users)
		require.Zero(t, of.needs)
	}
}
