package writes

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNulledMeanwhile proves that where another client makes a counter NULL between an
// increment of several and COMMIT, the other counters get theirs: on plain MySQL it
// would have waited.
func TestNulledMeanwhile(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"multiStatements=false", "multiStatements=true"} {
			for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelReadCommitted} {
				for _, begun := range []bool{false, true} {
					tw := harness.NewTwin(t, srv, harness.Crowded, harness.CrowdedCounters(), params)
					was := harness.Number(t, tw.Ours, "SELECT n FROM item WHERE id = 1")
					harness.Affected(t, tw.Ours, "UPDATE item SET n = n + 10, m = m + 10, d = d + 10 WHERE id = 1")
					tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
					require.NoError(t, err)
					if begun {
						harness.Number(t, tx, "SELECT COUNT(*) FROM word")
					}
					require.EqualValues(t, 3, harness.Affected(t, tx, "UPDATE item SET n = n + 1, m = m + 1, d = d + 0.5 WHERE id IN (1, 2, 3)"))
					harness.Affected(t, tw.Ours, "UPDATE item SET m = NULL WHERE id = 1")
					harness.Affected(t, tw.Ours, "UPDATE item SET n = n + 100 WHERE id = 1")
					require.NoError(t, tx.Commit())
					require.Equal(t, was+111, harness.Number(t, tw.Ours, "SELECT n FROM item WHERE id = 1"))
					require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT COUNT(*) FROM item WHERE id = 1 AND m IS NULL AND d = 10.5"))
					require.EqualValues(t, 2, harness.Number(t, tw.Ours, "SELECT COUNT(*) FROM item WHERE id IN (2, 3) AND m = 1 AND d = 0.5"))
				}
			}
		}
	})
}

// TestRekeyedMeanwhile proves that increments of a row by its old and by its new key are
// both counted, whichever of them a read or COMMIT takes first.
func TestRekeyedMeanwhile(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, read := range []string{"", "SELECT COUNT(likes) FROM post WHERE id = 1", "SELECT COUNT(likes) FROM post WHERE id = 9", "SELECT SUM(likes) FROM post"} {
			for _, begun := range []bool{false, true} {
				tw := harness.NewBlog(t, srv, harness.BlogCounters())
				tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
				require.NoError(t, err)
				if begun {
					harness.Affected(t, tx, "INSERT INTO note VALUES (1, '')")
				}
				harness.Affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE slug = 'a'")
				harness.Affected(t, tw.Ours, "UPDATE post SET id = 9 WHERE id = 1")
				harness.Affected(t, tx, "UPDATE post SET likes = likes + 1000 WHERE id = 9")
				if read != "" {
					harness.Number(t, tx, read)
				}
				require.NoError(t, tx.Commit())
				require.EqualValues(t, 1110, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 9"), "%s, begun %v", read, begun)
			}
		}
	})
}
