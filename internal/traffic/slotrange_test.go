package traffic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/catalog"
)

// TestSlotRange proves which ranges are possible, and that servers get ranges
// that do not overlap or are the same.
func TestSlotRange(t *testing.T) {
	for _, s := range []string{"1", "a-b", "-1-3", "5-4", "0-1024", "65000-65536", "auto-auto", "1-"} {
		_, ok := ParseSlotRange(s)
		require.False(t, ok, s)
	}
	r, ok := ParseSlotRange("16-31")
	require.True(t, ok)
	require.Equal(t, SlotRange{from: 16, size: 16}, r.of("any"))
	require.Equal(t, 16, r.slots(64))
	require.Equal(t, 8, r.slots(8))
	auto, ok := ParseSlotRange(Auto)
	require.True(t, ok)
	starts := map[int]bool{}
	for _, server := range []string{"a:3306", "b:3306", "c:3306"} {
		from := auto.of(server).from
		require.Equal(t, from, auto.of(server).from)
		require.Zero(t, from%MaxSlots)
		require.LessOrEqual(t, from+MaxSlots-1, catalog.FirstReserved-1)
		starts[from] = true
	}
	require.Greater(t, len(starts), 1)
	require.Equal(t, 64, auto.slots(64))
}
