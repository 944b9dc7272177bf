package writes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFailedTake proves that an increment is not lost when the read that takes
// it fails, and the transaction goes on.
func TestFailedTake(t *testing.T) {
	const schema = `
CREATE TABLE small (id INT PRIMARY KEY, n TINYINT NOT NULL DEFAULT 120);
INSERT INTO small (id) VALUES (1);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("small", "n"))
		tx, err := tw.Ours.Begin()
		require.NoError(t, err)
		require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE small SET n = n + 10 WHERE id = 1"))
		var n int
		require.Equal(t, 1264, harness.ErrorNumber(tx.QueryRow("SELECT n FROM small WHERE id = 1").Scan(&n)))
		require.NoError(t, tx.Commit())
		require.EqualValues(t, 130, harness.Number(t, tw.Ours, "SELECT n FROM small WHERE id = 1"))
	})
}

// TestFailedFold proves that nothing is lost or counted twice when one of the
// statements of a fold fails, by KILL QUERY say, and the application goes on: it
// fails like any statement, or the whole transaction does.
func TestFailedFold(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, failing := range []string{"UPDATE `", "DELETE "} {
			for _, own := range []bool{false, true} {
				for _, again := range []bool{false, true} {
					t.Run(fmt.Sprint(failing, " own ", own, " again ", again), func(t *testing.T) {
						tw := harness.NewBlog(t, srv, harness.BlogCounters()) // post 1: base row 5, slots 5
						tx, err := tw.Ours.Begin()
						require.NoError(t, err)
						harness.Affected(t, tx, "INSERT INTO note VALUES (1, '')")
						if own {
							harness.Affected(t, tx, harness.LikeOne)
						}
						hit := false
						tw.Sent.Meddle(t, func(query string) error {
							if !hit && strings.HasPrefix(query, failing) && strings.Contains(query, "countermysql") == (failing == "DELETE ") {
								hit = true
								return &mysql.MySQLError{Number: 1317, Message: "Query execution was interrupted"}
							}
							return nil
						})
						const clamp = "UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1"
						_, err = tx.Exec(clamp)
						require.Equal(t, 1317, harness.ErrorNumber(err))
						want := int64(10)
						if failing == "DELETE " { // the base row has been written by then
							_, err = tx.Exec(clamp)
							require.Error(t, err)
							require.Error(t, tx.Commit())
							require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note WHERE id = 1"))
						} else {
							if again {
								harness.Affected(t, tx, clamp)
							}
							if own {
								want++
							}
							require.Equal(t, want, harness.Number(t, tx, "SELECT likes FROM post WHERE id = 1"))
							require.NoError(t, tx.Commit())
						}
						require.Equal(t, want, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
					})
				}
			}
		}
	})
}
