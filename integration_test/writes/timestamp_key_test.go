package writes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestTimestampKey proves that slots stay with their row where the server gives each
// first TIMESTAMP column ON UPDATE CURRENT_TIMESTAMP, also if an older version has
// made the slots table.
func TestTimestampKey(t *testing.T) {
	const schema = "CREATE TABLE s (page INT, at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), hits INT NOT NULL DEFAULT 0, PRIMARY KEY (page, at));\nINSERT INTO s VALUES (1, '2024-01-01 10:00:00.125', 0), (1, '2024-01-01 11:00:00', 0);\n"
	const older = "CREATE TABLE s_slots (page INT NOT NULL, at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), slot SMALLINT UNSIGNED NOT NULL, hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (page, at, slot))"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, schema := range []string{schema, schema + older} {
			config := harness.Counters("s", "hits")
			config.Slots = 2
			tw := harness.NewTwin(t, srv, schema, config, "explicit_defaults_for_timestamp=0")
			for range 10 {
				require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE s SET hits = hits + 1 WHERE page = 1 AND at = '2024-01-01 10:00:00.125'"))
			}
			require.Equal(t, "page INT, at TIMESTAMP, hits INT, [1 2024-01-01 10:00:00.125 10][1 2024-01-01 11:00:00.000 0]", harness.Queried(t.Context(), tw.Ours, "SELECT * FROM s"))
			harness.RollUp(t, tw.Ours)
			require.EqualValues(t, 10, harness.Number(t, tw.Direct, "SELECT SUM(hits) FROM s"))
		}
	})
}
