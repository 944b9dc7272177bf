package operations

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRollupRests proves that a rollup in the background of many keys rests between its transactions, and leaves
// the table to one that is asked for, which does not.
func TestRollupRests(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const keys = 30000
		tw := harness.NewTwin(t, srv, "CREATE TABLE day (id INT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0)", harness.Counters("day", "n"))
		const numbers = " WITH RECURSIVE digits (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM digits WHERE n < 99) "
		harness.Affected(t, tw.Direct, "INSERT INTO day (id)"+numbers+"SELECT a.n * 10000 + b.n * 100 + c.n FROM digits a, digits b, digits c WHERE a.n < 3")
		harness.Affected(t, tw.Direct, "INSERT INTO day_slots (id, slot, n) SELECT id, 0, 1 FROM day")
		waiting := func() int64 { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM day_slots") }
		config := *tw.Config
		config.Rollup = time.Second
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		harness.Number(t, db, "SELECT n FROM day WHERE id = 1")
		require.Eventually(t, func() bool { return waiting() < keys }, 20*time.Second, time.Millisecond)
		done, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		require.Greater(t, done[0].Keys, int64(keys/2))
		require.Zero(t, waiting())
		require.EqualValues(t, keys, harness.Number(t, tw.Direct, "SELECT SUM(n) FROM day"))
	})
}
