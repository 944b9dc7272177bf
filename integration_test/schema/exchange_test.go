package schema

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const partitioned = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20));
CREATE TABLE old (id INT PRIMARY KEY, likes INT NOT NULL);
INSERT INTO post VALUES (1, 0), (2, 0), (3, 0), (11, 0);
`

// TestExchangeBesideWriters proves that rows go to another table only once the slots table
// is closed, and take along what was counted for them.
func TestExchangeBesideWriters(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, partitioned, harness.Counters("post", "likes"))
		_, stop := hammer(t, tw)
		exchanges := []string{"ALTER TABLE post EXCHANGE PARTITION p0 WITH TABLE old", "ALTER TABLE `post` EXCHANGE PARTITION p0 WITH TABLE " + harness.DbName(t, tw.Ours) + ".old;"}
		refusesOpen(t, tw, exchanges...)
		var errs []error
		for range 10 {
			for _, exchange := range exchanges {
				time.Sleep(10 * time.Millisecond)
				_, err := harness.Session(t, tw.Ours).ExecContext(t.Context(), exchange)
				errs = append(errs, err)
			}
		}
		total := stop()
		require.NoError(t, errors.Join(errs...))
		require.NotZero(t, total)
		require.Equal(t, total, harness.Number(t, tw.Ours, "SELECT (SELECT SUM(likes) FROM post) + (SELECT COALESCE(SUM(likes), 0) FROM old)"))
	})
}
