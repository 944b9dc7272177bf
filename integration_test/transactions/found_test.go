package transactions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFoundBesideFold proves that a statement which finds its rows by a counter finds them also while somebody else folds
// one: its value is the same at any moment.
func TestFoundBesideFold(t *testing.T) {
	t.Parallel()
	statements := []string{"UPDATE vers SET n = 11 WHERE n = 10", "DELETE FROM vers WHERE n = 10", "UPDATE vers SET n = n + 5 WHERE n > 9", "UPDATE vers SET title = 'x' WHERE n = 10"}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range statements {
			for _, begin := range []string{"", "begin RC", "begin RR"} {
				t.Run(begin+"/"+stmt, func(t *testing.T) {
					t.Parallel()
					tw := harness.NewTwin(t, srv, "CREATE TABLE vers (id INT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0, title VARCHAR(9));\nINSERT INTO vers (id, n) VALUES (0, 10), (1, 3)", harness.Counters("vers", "n"), "clientFoundRows=true")
					harness.Affected(t, tw.Direct, "UPDATE vers SET n = n - 4 WHERE id = 0")
					harness.Affected(t, tw.Direct, "INSERT INTO vers_slots (id, slot, n) VALUES (0, 3, 4)")
					mover, err := tw.Direct.Begin()
					require.NoError(t, err)
					defer mover.Rollback()
					for _, m := range []string{"UPDATE vers SET n = n + 4 WHERE id = 0", "DELETE FROM vers_slots"} {
						harness.Affected(t, mover, m)
					}
					session := harness.Session(t, tw.Ours)
					if begin != "" {
						level := map[string]string{"begin RC": "READ COMMITTED", "begin RR": "REPEATABLE READ"}[begin]
						harness.Affected(t, session, "SET TRANSACTION ISOLATION LEVEL "+level)
						harness.Affected(t, session, "BEGIN")
					}
					answer := harness.Later(t, session, stmt)
					require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 10*time.Millisecond)
					require.NoError(t, mover.Commit())
					require.Equal(t, "affected 1", harness.Soon(t, answer))
					if begin != "" {
						harness.Affected(t, session, "COMMIT")
					}
					harness.Affected(t, tw.Plain, stmt)
					require.Equal(t, harness.PlayOn(t, tw.Plain, []string{"A: SELECT * FROM vers ORDER BY id"}), harness.PlayOn(t, tw.Ours, []string{"A: SELECT * FROM vers ORDER BY id"}))
				})
			}
		}
	})
}
