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

// TestRollupTurns proves that the background rolls up one table for so long only as its interval is, then the
// others, and goes on with the first one where it was.
func TestRollupTurns(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const keys = 30000
		config := countermysql.Config{Tables: []countermysql.TableConfig{{Table: "day", Counters: []string{"n"}}, {Table: "hour", Counters: []string{"n"}}}}
		tw := harness.NewTwin(t, srv, "CREATE TABLE day (id INT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0);\nCREATE TABLE hour LIKE day;\nINSERT INTO hour (id) VALUES (1)", &config)
		const numbers = " WITH RECURSIVE digits (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM digits WHERE n < 99) "
		harness.Affected(t, tw.Direct, "INSERT INTO day (id)"+numbers+"SELECT a.n * 10000 + b.n * 100 + c.n FROM digits a, digits b, digits c WHERE a.n < 3")
		harness.Affected(t, tw.Direct, "INSERT INTO day_slots (id, slot, n) SELECT id, 0, 1 FROM day")
		harness.Affected(t, tw.Direct, "INSERT INTO hour_slots (id, slot, n) VALUES (1, 0, 1)")
		waiting := func(of string) int64 { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM "+of) }
		config = *tw.Config
		config.Rollup = time.Second
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		harness.Number(t, db, "SELECT n FROM day WHERE id = 1")
		require.Eventually(t, func() bool { return waiting("hour_slots") == 0 }, time.Minute, time.Millisecond)
		left := waiting("day_slots")
		require.Greater(t, left, int64(keys/4))
		harness.Affected(t, tw.Direct, "INSERT INTO day_slots (id, slot, n) VALUES (0, 0, 1)")
		require.Eventually(t, func() bool { return waiting("day_slots") < left-keys/100 }, time.Minute, time.Millisecond)
		require.EqualValues(t, 1, waiting("day_slots WHERE id = 0"))
		harness.RollUp(t, tw.Ours)
		require.EqualValues(t, keys+1, harness.Number(t, tw.Direct, "SELECT SUM(n) FROM day"))
	})
}

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
