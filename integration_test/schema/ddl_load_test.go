package schema

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAlterBesideWriters proves that a key or counter which changes its type or
// its name while others count loses no increment, and leaves no slots behind
// that would not fit any more.
func TestAlterBesideWriters(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct{ ddl, read string }{
			{"ALTER TABLE post MODIFY id BIGINT NOT NULL", "SELECT SUM(likes) FROM post"},
			{"ALTER TABLE post MODIFY likes BIGINT NOT NULL", "SELECT SUM(likes) FROM post"},
		} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT NOT NULL, no INT NOT NULL, likes INT NOT NULL, PRIMARY KEY (id));\nINSERT INTO post VALUES (1, 2, 0), (2, 1, 0)", harness.Counters("post", "likes"))
			var counted atomic.Int64
			var stop atomic.Bool
			var writers sync.WaitGroup
			for range 4 {
				writers.Go(func() {
					for !stop.Load() {
						res, err := tw.Ours.Exec("UPDATE post SET likes = likes + 1 WHERE id = 1")
						var wrong *mysql.MySQLError
						if err == nil {
							n, _ := res.RowsAffected()
							counted.Add(n)
						} else if !errors.As(err, &wrong) || wrong.Number != 1054 && wrong.Number != 1146 {
							t.Error(c.ddl, err)
							return
						}
					}
				})
			}
			time.Sleep(50 * time.Millisecond)
			_, err := harness.Session(t, tw.Ours).ExecContext(t.Context(), c.ddl)
			time.Sleep(50 * time.Millisecond)
			stop.Store(true)
			writers.Wait()
			require.NoError(t, err, c.ddl)
			total := harness.Number(t, tw.Ours, c.read)
			require.Equal(t, counted.Load(), total, "%s %s", c.ddl, strings.Join(harness.QueriedList(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"), ""))
		}
	})
}
