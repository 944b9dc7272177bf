package stats

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGroupSizes proves that sizes are counted under the first bound that holds them.
func TestGroupSizes(t *testing.T) {
	var s Stats
	for _, size := range []int{1, 2, 3, 4, 5, 512, 513, 100000} {
		s.Group(size)
	}
	h := s.Snapshot().Groups
	require.Equal(t, []int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, h.Bounds)
	require.Equal(t, []int64{1, 1, 2, 1, 0, 0, 0, 0, 0, 1, 2}, h.Counts)
	require.EqualValues(t, 1+2+3+4+5+512+513+100000, h.Sum)
}

// TestFallbackTexts proves that texts are counted by digest and bounded.
func TestFallbackTexts(t *testing.T) {
	var s Stats
	require.True(t, s.Fallback("a", "because"))
	require.False(t, s.Fallback("a", "because"))
	for i := range 10 * maxFallbacks {
		s.Fallback(fmt.Sprint(i), "because")
	}
	all := s.Snapshot().Fallbacks
	require.Len(t, all, maxFallbacks)
	require.Contains(t, all, Fallback{"a", "because", 2})
}
