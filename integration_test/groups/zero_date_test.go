package groups

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestZeroDates proves that a row that has never been touched, and has the zero date for it, is read and
// folded as others, whether the sessions are strict or not.
func TestZeroDates(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"", "sql_mode=''"} {
			config := cooling(harness.Counters("post", "likes"))
			config.Tables[0].Touch = []string{"seen_at", "at"}
			tw := harness.NewTwin(t, srv, `SET @mode = @@sql_mode;
SET sql_mode = '';
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, seen_at DATETIME NOT NULL DEFAULT '0000-00-00 00:00:00', at TIMESTAMP NOT NULL DEFAULT '0000-00-00 00:00:00');
CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, post_id INT, FOREIGN KEY (post_id) REFERENCES post (id));
INSERT INTO post (id) VALUES (1), (2), (3), (4), (5);
SET sql_mode = @mode`, config, params)
			child, err := tw.Direct.Begin()
			require.NoError(t, err)
			harness.Affected(t, child, "INSERT INTO log (post_id) SELECT id FROM post")
			now := time.Now().UTC().Format("'2006-01-02 15:04:05'")
			for _, text := range []string{
				"UPDATE post SET likes = likes + 1 WHERE id = 1",
				"UPDATE post SET likes = likes + 1, seen_at = " + now + " WHERE id = 2",
				"UPDATE post SET likes = likes + 1, at = NOW() WHERE id = 4",
			} {
				harness.Affected(t, tw.Plain, text)
				harness.Affected(t, tw.Ours, text)
			}
			read := func() {
				for _, query := range []string{"SELECT id, likes, seen_at, IF(id = 4, 0, at) FROM post ORDER BY id", "SELECT COUNT(*) FROM post WHERE seen_at < NOW() - INTERVAL 1 DAY", "SELECT id FROM post WHERE seen_at = 0", "SELECT MIN(seen_at) FROM post", "SELECT id, CONCAT(seen_at), YEAR(seen_at), likes FROM post WHERE id <> 4", "SELECT id FROM post ORDER BY seen_at, id", "SELECT seen_at FROM post WHERE id = 1", "SELECT at FROM post WHERE id = 1", "SELECT seen_at, likes FROM post WHERE id = 2"} {
					tw.Same(t, query)
				}
			}
			require.EqualValues(t, 3, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))
			read()
			require.NoError(t, child.Commit())
			require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots") == 0 }, 5*time.Second, 20*time.Millisecond)
			read()
		}
	})
}
