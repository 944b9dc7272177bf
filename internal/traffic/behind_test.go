package traffic

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBehind proves that what comes behind an increment is known once it has been so some
// times, is forgotten where transactions are mostly late, and at once where it was otherwise.
func TestBehind(t *testing.T) {
	var b Behind
	commits := func(n int, behind time.Duration) {
		for range n {
			b.Committed(behind)
		}
	}
	require.False(t, b.Last() || b.OnlyIncrements())
	commits(usualAfter, soonIs)
	require.True(t, b.Last() && b.OnlyIncrements())
	commits(1, soonIs+1)
	require.False(t, b.Last() || b.OnlyIncrements())
	commits(mostUsual, soonIs)
	for range 20 { // some are late on a busy machine
		commits(1, time.Second)
		require.True(t, b.Last() && b.OnlyIncrements())
		commits(lateCosts, 0)
	}
	commits(mostUsual/lateCosts, time.Second)
	require.False(t, b.Last() || b.OnlyIncrements())
	commits(mostUsual, 0)

	b.Increment()
	require.False(t, b.Last())
	require.True(t, b.OnlyIncrements())
	b.Other()
	commits(mostUsual, 0)
	require.False(t, b.Last() || b.OnlyIncrements())
}
