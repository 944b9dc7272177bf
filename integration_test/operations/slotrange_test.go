package operations

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSlotRange proves that a process writes the slots of its range only, and
// that everybody reads the slots of all.
func TestSlotRange(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("hot", "n")
		config.SlotRange, config.Slots = "40-47", 16
		tw := harness.NewTwin(t, srv, harness.Hot, config)
		other := *tw.Config
		other.SlotRange = countermysql.SlotRangeAuto
		db, _ := harness.OpenOurs(t, tw.OursDSN, &other)
		for range 100 {
			harness.Affected(t, tw.Ours, "UPDATE hot SET n = n + 1 WHERE id = 10")
			harness.Affected(t, db, "UPDATE hot SET n = n + 1 WHERE id = 20")
		}
		require.EqualValues(t, 200, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM hot"))
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM hot_slots WHERE id = 10 AND slot NOT BETWEEN 40 AND 47"))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(DISTINCT slot DIV 1024) FROM hot_slots WHERE id = 20"))
		require.LessOrEqual(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM hot_slots WHERE id = 20"), int64(16))
	})
}
