package connections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestGroup runs on a MySQL group of two members, first with one primary, then with two. What
// becomes of counts when a primary is killed is proved in faults.
func TestGroup(t *testing.T) {
	t.Parallel()
	nodes, err := testserver.StartGroup(t.Context(), 2)
	require.NoError(t, err)
	for _, s := range nodes {
		t.Cleanup(s.Stop)
	}
	t.Run("secondary", func(t *testing.T) { groupSecondary(t, nodes) })
	var done string
	require.NoError(t, harness.Open(t, nodes[0].DSN("")).QueryRow("SELECT group_replication_switch_to_multi_primary_mode()").Scan(&done))
	t.Run("schedules", func(t *testing.T) { clusterSchedules(t, nodes) })
	t.Run("rollups", func(t *testing.T) { clusterRollups(t, nodes) })
	t.Run("load", func(t *testing.T) { clusterLoad(t, nodes) })
	t.Run("check", func(t *testing.T) {
		c := newCluster(t, nodes, stock, harness.Counters("item", "n"))
		require.True(t, finds(t, c.both[0], "a member of a group with several primaries", "through one node"))
	})
}

// groupSecondary proves that a secondary which is read through the driver shows every count, that it
// refuses what would have to be written there, and that Check knows a setting by which counts can get
// behind a reset.
func groupSecondary(t *testing.T, nodes []*testserver.Server) {
	c := newCluster(t, nodes, stock, harness.Counters("item", "n"))
	require.EqualValues(t, 1, harness.Affected(t, c.both[0], "UPDATE item SET n = n + 1 WHERE id = 1"))
	harness.Affected(t, c.Direct, "INSERT INTO item_slots VALUES (1, 40, 5)") // as others leave them
	for _, query := range []string{row1, "SELECT n FROM item ORDER BY n DESC LIMIT 1", "SELECT SUM(n) FROM item"} {
		require.Equal(t, harness.Queried(t.Context(), c.both[0], query), harness.Queried(t.Context(), c.both[1], query))
	}
	require.EqualValues(t, 7, harness.Number(t, c.both[1], "SELECT n FROM item WHERE id = 1"))
	for _, stmt := range []string{"UPDATE item SET n = n + 1 WHERE id = 1", "UPDATE item SET n = 0 WHERE id = 1", "DELETE FROM item WHERE id = 1"} {
		_, err := c.both[1].Exec(stmt)
		require.Equal(t, 1290, harness.ErrorNumber(err), stmt)
	}
	harness.RollUp(t, c.both[0])
	require.EqualValues(t, 7, harness.Number(t, c.plains[1], "SELECT n FROM "+c.Name(t)+".item WHERE id = 1"))

	require.False(t, finds(t, c.both[0], "group", ""))
	harness.Affected(t, c.Direct, "SET GLOBAL group_replication_consistency = EVENTUAL")
	require.True(t, finds(t, c.both[0], "EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER"))
	harness.Affected(t, c.Direct, "SET GLOBAL group_replication_consistency = DEFAULT")
}
