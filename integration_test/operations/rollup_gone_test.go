package operations

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRollupBesideDrop proves that a table which is dropped while the background looks for slots keeps it from
// no other table.
func TestRollupBesideDrop(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := countermysql.Config{Tables: []countermysql.TableConfig{{Table: "day", Counters: []string{"n"}}, {Table: "hour", Counters: []string{"n"}}}}
		tw := harness.NewTwin(t, srv, "CREATE TABLE day (id INT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0);\nCREATE TABLE hour LIKE day;\nINSERT INTO day (id) VALUES (1)", &config)
		harness.Affected(t, tw.Direct, "INSERT INTO day_slots (id, slot, n) VALUES (1, 0, 5)")
		config = *tw.Config
		config.Rollup = time.Second
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		drop := sync.OnceFunc(func() {
			harness.ExecAll(t, db, "DROP TABLE hour")
			harness.Number(t, db, "SELECT n FROM day WHERE id = 1") // it has learned of that
		})
		tw.Sent.Meddle(t, func(query string) error {
			if strings.Contains(query, "hour_slots") && strings.Contains(query, "read_only") {
				drop()
			}
			return nil
		})
		harness.Number(t, db, "SELECT n FROM day WHERE id = 1")
		require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM day_slots") == 0 }, 20*time.Second, time.Millisecond)
		require.EqualValues(t, 5, harness.Number(t, tw.Direct, "SELECT n FROM day"))
		require.Zero(t, harness.Stats(t, db).Rollups.Errors)
	})
}
