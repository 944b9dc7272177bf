package traffic

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClaims proves that a row is one transaction's until that ends, that a few others wait
// for it, each for a moment and with his context, and nobody any more for one that has kept it.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Claims
		var first, second Held
		took := func(f func() bool) (bool, time.Duration) {
			start := time.Now()
			return f(), time.Since(start)
		}
		take := func(h *Held) func() bool { return func() bool { return s.Take(nil, "7", h) } }
		wait := func() bool { return s.Wait(nil, "7") }

		require.True(t, wait())
		require.True(t, take(&first)())
		require.True(t, take(&first)(), "its own")
		require.True(t, s.Take(nil, "8", &second))

		time.AfterFunc(time.Millisecond, first.Release)
		ok, d := took(take(&second))
		require.True(t, ok)
		require.Equal(t, time.Millisecond, d)

		gone := make(chan struct{})
		close(gone)
		require.False(t, s.Wait(gone, "7"))

		answers := make(chan bool, claimWaiting)
		for range claimWaiting {
			go func() { answers <- wait() }()
		}
		synctest.Wait()
		ok, d = took(wait)
		require.False(t, ok)
		require.Zero(t, d, "too many wait")
		second.Release()
		for range claimWaiting {
			require.True(t, <-answers)
		}

		require.True(t, take(&first)())
		ok, d = took(take(&second))
		require.False(t, ok)
		require.Equal(t, claimWait, d)
		ok, d = took(take(&second))
		require.False(t, ok)
		require.Zero(t, d, "he keeps it")
		first.Release()
		require.True(t, take(&second)())
		second.Release()
		require.Empty(t, s.all)
	})
}
