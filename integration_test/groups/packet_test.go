package groups

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLongKeysInSmallPackets proves that what the driver sends for many keys at once fits into the
// packets that the session may send: pending increments at COMMIT, in one packet with it
// on MariaDB, too, what takes and folds rows, and a rollup. 500 keys of 200 characters are 500 kB of
// statement, as one kilobyte each.
func TestLongKeysInSmallPackets(t *testing.T) {
	const rows = 150
	var values []string
	key := func(i int) string { return fmt.Sprintf("%03d%s", i, strings.Repeat("k", 665)) }
	for i := range rows {
		values = append(values, "('"+key(i)+"')")
	}
	schema := "CREATE TABLE long_key (id VARCHAR(700) PRIMARY KEY, n INT NOT NULL DEFAULT 0, title INT NOT NULL DEFAULT 0)"
	for part := range slices.Chunk(values, 50) {
		schema += ";\nINSERT INTO long_key (id) VALUES " + strings.Join(part, ", ")
	}
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"maxAllowedPacket=65536", "multiStatements=true&maxAllowedPacket=65536"} {
			for _, touched := range []bool{false, true} {
				t.Run(fmt.Sprint(params, touched), func(t *testing.T) {
					tw := harness.NewTwin(t, srv, schema, harness.Counters("long_key", "n"), strings.Split(params, "&")...)
					for range 2 { // into new slots, then into old ones
						tx, err := tw.Ours.Begin()
						require.NoError(t, err)
						if touched {
							harness.Affected(t, tx, "UPDATE long_key SET title = 1 WHERE id = 'x'")
						}
						for i := range rows {
							require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE long_key SET n = n + 1 WHERE id = '"+key(i)+"'"))
						}
						require.NoError(t, tx.Commit())
					}
					require.EqualValues(t, 2*rows, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM long_key"))
					require.EqualValues(t, rows, harness.Affected(t, tw.Ours, "UPDATE long_key SET n = n * 2 WHERE title = 0"))
					require.EqualValues(t, 4*rows, harness.Number(t, tw.Direct, "SELECT SUM(n) FROM long_key"))
					require.EqualValues(t, rows, harness.Affected(t, tw.Ours, "UPDATE long_key SET n = n + 1 WHERE n > 0 AND title = 0"))
					tx, err := tw.Ours.Begin()
					require.NoError(t, err)
					for i := range rows {
						require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE long_key SET n = n + 1 WHERE id = '"+key(i)+"'"))
					}
					require.EqualValues(t, 6*rows, harness.Number(t, tx, "SELECT SUM(n) FROM long_key"))
					require.NoError(t, tx.Commit())
					tx, err = tw.Ours.Begin()
					require.NoError(t, err)
					for i := range rows {
						require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE long_key SET n = n + 1 WHERE id = '"+key(i)+"'"))
					}
					require.NoError(t, tx.Commit())
					_, err = countermysql.Rollup(t.Context(), tw.Ours, nil)
					require.NoError(t, err)
					require.EqualValues(t, 7*rows, harness.Number(t, tw.Direct, "SELECT SUM(n) FROM long_key"))

					// One statement that says in few words which rows it means.
					require.EqualValues(t, rows, harness.Affected(t, tw.Ours, "UPDATE long_key SET n = n + 1 WHERE title = 0"))
					harness.Affected(t, tw.Ours, "UPDATE long_key SET n = n + 1 WHERE id = '"+key(7)+"'")
					for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
						tx, err = tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
						require.NoError(t, err)
						require.EqualValues(t, rows, harness.Number(t, tx, "SELECT COUNT(*) FROM long_key WHERE n > 0"))
						require.EqualValues(t, rows, harness.Affected(t, tx, "UPDATE long_key SET n = n + 1 WHERE title = 0"))
						require.EqualValues(t, rows, harness.Affected(t, tx, "UPDATE long_key SET n = n + 2 WHERE title = 0 AND n > 0"))
						require.NoError(t, tx.Commit())
						harness.Affected(t, tw.Ours, "UPDATE long_key SET n = n + 1 WHERE id = '"+key(7)+"'")
					}
					require.EqualValues(t, rows*(8+3+3)+3, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM long_key"))

					// And one that fits into a packet as it is, with each key once.
					list := make([]string, 84)
					for i := range list {
						list[i] = "('" + key(i) + "', 1)"
					}
					harness.Affected(t, tw.Ours, "INSERT INTO long_key (id, n) VALUES "+strings.Join(list, ",")+" ON DUPLICATE KEY UPDATE n = n + VALUES(n)")
					require.EqualValues(t, rows*(8+3+3)+3+len(list), harness.Number(t, tw.Ours, "SELECT SUM(n) FROM long_key"))
				})
			}
		}
	})
}
