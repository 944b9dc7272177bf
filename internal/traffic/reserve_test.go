package traffic

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
)

// TestReserve proves which rows are chosen and when they are to be filled: for several who want
// units at once, by one of them, each counter by itself, and again when half is gone.
func TestReserve(t *testing.T) {
	var r Reserve
	var by Takes
	key := catalog.Key{"7"}
	first := r.Enter(key, "stock", &by, false)
	require.False(t, first.Fill(), "it is alone")
	second := r.Enter(key, "stock", &by, false)
	require.True(t, second.Fill())
	require.False(t, second.Fill(), "that is under way")
	_, ok := second.Choose(1)
	require.False(t, ok)
	require.False(t, r.Has(key.ID()))
	r.Filled(key, "stock", []int64{10, Unknown, 10}, 10)
	require.True(t, r.Has(key.ID()))
	require.True(t, r.Early(key.ID()))

	a, ok := first.Choose(10)
	require.True(t, ok)
	b, ok := second.Choose(10)
	require.True(t, ok)
	require.ElementsMatch(t, []int{0, 2}, []int{a, b})
	_, ok = second.Choose(1)
	require.False(t, ok, "of the other one nothing is known")
	first.Took(a, 9)
	second.Found(b, 0)
	second.Leave()
	third := r.Enter(key, "stock", &by, false)
	_, ok = third.Choose(1)
	require.False(t, ok)
	require.False(t, r.Idle(key.ID()))
	require.True(t, r.Early(key.ID()), "the first is still there")
	first.Leave()
	require.False(t, r.Early(key.ID()), "the third knew of them")
	got, ok := third.Choose(9)
	require.True(t, ok)
	require.Equal(t, a, got)

	seats := r.Enter(key, "seats", &by, false)
	require.True(t, seats.Fill())
	r.Filled(key, "seats", nil, 0)
	require.False(t, seats.Fill(), "there was too little a moment ago")
	seats.Leave()
	again := r.Enter(key, "seats", &by, true)
	require.False(t, again.Fill(), "the same transaction is alone with itself")
	again.Leave()

	require.True(t, by.May())
	third.Upset()
	require.True(t, by.May(), "it has taken nothing")
	third.Took(got, 1)
	third.Upset()
	require.False(t, by.May())

	third.Leave()
	r.Emptied(key.ID())
	fourth := r.Enter(key, "stock", &by, false)
	_, ok = fourth.Choose(1)
	require.False(t, ok)
	require.True(t, r.Has(key.ID()), "they are there all the same")
	r.Gone(key.ID())
	require.True(t, r.Has(key.ID()), "somebody may be about to lock one")
	fourth.Leave()
	r.Gone(key.ID())
	require.False(t, r.Has(key.ID()))
	require.False(t, r.Some())
}

// TestReserveForgets proves that keys of which nobody has taken anything are not remembered for
// ever.
func TestReserveForgets(t *testing.T) {
	var r Reserve
	for i := range 10 * manyReserved {
		id := string(rune('a' + i))
		require.False(t, r.Idle(id), "it has just been met")
		r.keys[id].seen -= 3 * idle
		require.True(t, r.Idle(id))
		r.swept -= 3 * idle
	}
	require.LessOrEqual(t, len(r.keys), manyReserved+1)
}

// TestReserveLooks proves that a process takes from rows that another one has filled: it looks what they
// have when it learns that there are some, again while none has any, by one transaction at a time,
// and then once what is known is old.
func TestReserveLooks(t *testing.T) {
	var r Reserve
	var by Takes
	key := catalog.Key{"7"}
	x, other := r.Enter(key, "stock", &by, false), r.Enter(key, "stock", &by, false)
	require.False(t, x.Looks(), "there are none")
	r.Met(key.ID(), 3)
	require.True(t, x.Looks())
	require.False(t, other.Looks(), "x does")
	x.Saw(0, 0)
	x.Saw(2, 0)
	_, ok := x.Choose(1)
	require.False(t, ok)
	time.Sleep(lookRest + 1)
	require.True(t, other.Looks())
	other.Saw(2, 5)
	require.False(t, x.Looks())
	row, ok := x.Choose(5)
	require.True(t, ok)
	require.Equal(t, 2, row)
	x.Took(row, 4)
	other.Saw(row, 5) // as committed before
	x.Leave()
	time.Sleep(lookRest + 1)
	require.False(t, other.Looks())
	_, ok = other.Choose(5)
	require.False(t, ok)
	other.stock.looked -= stale
	require.True(t, other.Looks())
	_, ok = other.Choose(4)
	require.True(t, ok)
}
