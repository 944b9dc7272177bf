package integration_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, partitioned, counters("post", "likes"))
		_, stop := hammer(t, tw)
		var errs []error
		for range 10 {
			for _, exchange := range []string{"ALTER TABLE post EXCHANGE PARTITION p0 WITH TABLE old", "ALTER TABLE `post` EXCHANGE PARTITION p0 WITH TABLE " + dbName(t, tw.ours) + ".old;"} {
				time.Sleep(10 * time.Millisecond)
				_, err := session(t, tw.ours).ExecContext(t.Context(), exchange)
				errs = append(errs, err)
			}
		}
		total := stop()
		require.NoError(t, errors.Join(errs...))
		require.NotZero(t, total)
		require.Equal(t, total, number(t, tw.ours, "SELECT (SELECT SUM(likes) FROM post) + (SELECT COALESCE(SUM(likes), 0) FROM old)"))
	})
}

// TestAcceptedExchange pins that what is counted between the rollup and EXCHANGE PARTITION
// stays with the key where the other table gives a row of the same key for it.
func TestAcceptedExchange(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, partitioned+"INSERT INTO old VALUES (1, 50)", counters("post", "likes"))
		const exchange, like = "ALTER TABLE post EXCHANGE PARTITION p0 WITH TABLE old", "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)"
		affected(t, tw.ours, like)
		var once sync.Once
		tw.sent.meddle(t, func(query string) error {
			if strings.HasPrefix(query, exchange) {
				once.Do(func() { affected(t, tw.ours, like) })
			}
			return nil
		})
		_, err := tw.ours.Exec(exchange)
		require.NoError(t, err)
		require.Equal(t, "id INT, likes INT, [1 1][2 2][3 0]", queried(t.Context(), tw.ours, "SELECT id, likes FROM old ORDER BY id")) // [1 2] on plain MySQL
		require.Equal(t, "id INT, likes INT, [1 51][11 0]", queried(t.Context(), tw.ours, "SELECT id, likes FROM post ORDER BY id"))   // [1 50]
	})
}
