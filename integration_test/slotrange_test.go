package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSlotRange proves that a process writes the slots of its range only, and
// that everybody reads the slots of all.
func TestSlotRange(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := counters("hot", "n")
		config.SlotRange, config.Slots = "40-47", 16
		tw := newTwin(t, srv, hot, config)
		other := *tw.config
		other.SlotRange = countermysql.SlotRangeAuto
		db, _ := openOurs(t, tw.oursDSN, &other)
		for range 100 {
			affected(t, tw.ours, "UPDATE hot SET n = n + 1 WHERE id = 10")
			affected(t, db, "UPDATE hot SET n = n + 1 WHERE id = 20")
		}
		require.EqualValues(t, 200, number(t, tw.ours, "SELECT SUM(n) FROM hot"))
		require.Zero(t, number(t, tw.direct, "SELECT COUNT(*) FROM hot_slots WHERE id = 10 AND slot NOT BETWEEN 40 AND 47"))
		require.EqualValues(t, 1, number(t, tw.direct, "SELECT COUNT(DISTINCT slot DIV 1024) FROM hot_slots WHERE id = 20"))
		require.LessOrEqual(t, number(t, tw.direct, "SELECT COUNT(*) FROM hot_slots WHERE id = 20"), int64(16))
	})
}
