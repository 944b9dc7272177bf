package writes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRowAppears proves that what overwrites a row that has come, and was counted, since it was looked for has
// overwritten the count, too; inside a transaction it may have to be run again.
func TestRowAppears(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range []string{
			"REPLACE INTO page (id, n) VALUES (1, 4), (12, 6)",
			"REPLACE INTO page (id, n) VALUES (12, 6)",
			"INSERT INTO page (id, n) VALUES (1, 4), (12, 6) ON DUPLICATE KEY UPDATE n = VALUES(n)",
			"INSERT INTO page (id, n) VALUES (12, 6) ON DUPLICATE KEY UPDATE n = VALUES(n)",
		} {
			for _, inside := range []bool{false, true} {
				tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO page (id) VALUES (1), (2)",
					&countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: "page", Counters: []string{"n"}}}}, "interpolateParams=true")
				quiet := *tw.Config
				quiet.Interceptor = nil
				other, _ := harness.OpenOurs(t, tw.OursDSN, &quiet)
				harness.Affected(t, other, "UPDATE page SET n = 0 WHERE id = 2")
				harness.Affected(t, tw.Direct, "INSERT INTO page_slots (id, slot, n) VALUES (1, 1, 1)")
				came := false
				tw.Sent.Meddle(t, func(query string) error {
					if query == stmt && !came {
						came = true
						harness.Affected(t, other, "INSERT INTO page (id, n) VALUES (12, 0)")
						reader, err := tw.Direct.Begin()
						require.NoError(t, err)
						harness.Queried(t.Context(), reader, "SELECT * FROM page WHERE id = 12 LOCK IN SHARE MODE") // so that it goes to a slot
						harness.Affected(t, other, "UPDATE page SET n = n + 1 WHERE id = 12")
						require.NoError(t, reader.Rollback())
						require.EqualValues(t, 1, harness.Number(t, other, "SELECT n FROM page WHERE id = 12"))
					}
					return nil
				})
				if inside {
					tx, err := tw.Ours.Begin()
					require.NoError(t, err)
					harness.Queried(t.Context(), tx, "SELECT 1")
					_, err = tx.Exec(stmt)
					require.EqualValues(t, 1213, harness.ErrorNumber(err), stmt)
					require.NoError(t, tx.Rollback())
				}
				_, err := tw.Ours.Exec(stmt)
				require.NoError(t, err, stmt)
				require.True(t, came)
				require.EqualValues(t, 6, harness.Number(t, tw.Ours, "SELECT n FROM page WHERE id = 12"), stmt)
				require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM page_slots WHERE id = 12"))
			}
		}
	})
}
