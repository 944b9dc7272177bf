package traffic

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFew proves that slots are counted by one of those who want to know whether they are few, once a
// second, and that they are few only for a while behind that.
func TestFew(t *testing.T) {
	var s Slots
	now := time.Minute
	asks := func(wantFew, wantCount bool) {
		t.Helper()
		few, count := s.Few(now)
		require.Equal(t, wantFew, few)
		require.Equal(t, wantCount, count)
	}
	asks(false, true)
	asks(false, false)
	s.SeeFew(now)
	asks(true, false)
	now += countAgain
	asks(true, true)
	asks(true, false)
	now += fewFor - countAgain
	asks(false, true)
	s.SeeFew(now)
	s.SeeMany(now)
	now += manyFor - 1
	asks(false, false)
	now++
	asks(false, true)
}

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
