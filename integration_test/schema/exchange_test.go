package schema

import (
	"errors"
	"strings"
	"sync"
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

// TestExchangeBesideWriters proves that rows which go to another table take along what
// was counted for them up to the last moment.
func TestExchangeBesideWriters(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, partitioned, harness.Counters("post", "likes"))
		_, stop := hammer(t, tw)
		var errs []error
		for range 10 {
			for _, exchange := range []string{"ALTER TABLE post EXCHANGE PARTITION p0 WITH TABLE old", "ALTER TABLE `post` EXCHANGE PARTITION p0 WITH TABLE " + harness.DbName(t, tw.Ours) + ".old;"} {
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

// TestAcceptedExchange pins that what is counted between the rollup and EXCHANGE PARTITION
// stays with the key where the other table gives a row of the same key for it.
func TestAcceptedExchange(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, partitioned+"INSERT INTO old VALUES (1, 50)", harness.Counters("post", "likes"))
		const exchange, like = "ALTER TABLE post EXCHANGE PARTITION p0 WITH TABLE old", "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)"
		harness.Affected(t, tw.Ours, like)
		var once sync.Once
		tw.Sent.Meddle(t, func(query string) error {
			if strings.HasPrefix(query, exchange) {
				once.Do(func() { harness.Affected(t, tw.Ours, like) })
			}
			return nil
		})
		_, err := tw.Ours.Exec(exchange)
		require.NoError(t, err)
		require.Equal(t, "id INT, likes INT, [1 1][2 2][3 0]", harness.Queried(t.Context(), tw.Ours, "SELECT id, likes FROM old ORDER BY id")) // [1 2] on plain MySQL
		require.Equal(t, "id INT, likes INT, [1 51][11 0]", harness.Queried(t.Context(), tw.Ours, "SELECT id, likes FROM post ORDER BY id"))   // [1 50]
	})
}
