package traffic

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLeases proves that slots in use at the same time differ while there are
// enough, and come back.
func TestLeases(t *testing.T) {
	var l Leases
	seen := map[int]bool{}
	for range 16 {
		seen[l.acquire(16)] = true
	}
	require.Len(t, seen, 16)
	l.release(7)
	require.Equal(t, 7, l.acquire(16))
	require.Less(t, l.acquire(16), 16, "more users than slots share")
}
