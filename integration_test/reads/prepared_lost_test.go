package reads

import (
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestPreparedDeadlock proves that a deadlock which ends the transaction while a query of it is
// prepared is the query's error, and nothing of the transaction is committed.
func TestPreparedDeadlock(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, views INT NOT NULL);\nCREATE TABLE visitor (id INT PRIMARY KEY, n INT NOT NULL);\nINSERT INTO post VALUES (1, 10, 20);\nINSERT INTO visitor VALUES (1, 0)",
			harness.Counters("post", "likes", "views"), "interpolateParams=true")
		ours, other := harness.Session(t, tw.Ours), harness.Session(t, tw.Direct)
		const query = "SELECT likes, views FROM post WHERE id = ?"
		for range 8 { // the next one prepares it
			require.Contains(t, exactly(t, ours, query, 1), "likes: int64 10")
		}
		tx, err := ours.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), "UPDATE visitor SET n = n + 1 WHERE id = 1")
		require.NoError(t, err)
		renamed := make(chan error, 1)
		go func() {
			_, err := other.ExecContext(t.Context(), "RENAME TABLE post TO q, visitor TO w, q TO post, w TO visitor") // has post, and waits for visitor
			renamed <- err
		}()
		require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 10*time.Millisecond)
		var likes, views int
		err = tx.QueryRowContext(t.Context(), query, 1).Scan(&likes, &views)
		var e *mysql.MySQLError
		require.ErrorAs(t, err, &e)
		require.EqualValues(t, 1213, e.Number)
		_ = tx.Rollback()
		require.NoError(t, <-renamed)
		require.EqualValues(t, 0, harness.Number(t, tw.Direct, "SELECT n FROM visitor"))
		require.Contains(t, exactly(t, ours, query, 1), "likes: int64 10")
	})
}
