package traffic

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLookPays proves that queries of which a few meet slots are sent as looks nearly
// always, those that all do hardly ever, and that it is noticed when that changes.
func TestLookPays(t *testing.T) {
	var l Look
	looks := func(queries int, meetsSlots func(i int) bool) (sent int) {
		for i := range queries {
			if l.Pays(0) {
				sent++
				l.Told(!meetsSlots(i))
			}
		}
		return sent
	}
	require.Greater(t, looks(1000, func(i int) bool { return i%5 == 0 }), 900)
	require.Less(t, looks(3200, func(int) bool { return true }), 150)
	looks(3*probeEvery, func(int) bool { return false })
	require.Equal(t, 100, looks(100, func(int) bool { return false }))
}
