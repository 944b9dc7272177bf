package writes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNullKey proves that a row whose AUTO_INCREMENT key is given as NULL is a new one:
// no slots have to be looked for, and no others rolled up.
func TestNullKey(t *testing.T) {
	const schema = "CREATE TABLE post (id INT AUTO_INCREMENT PRIMARY KEY, slug VARCHAR(9) UNIQUE, likes INT NOT NULL);\nINSERT INTO post VALUES (1, 'a', 1), (2, 'b', 2), (3, NULL, 3)"
	like, all := "B: UPDATE post SET likes = likes + 10 WHERE id IN (1, 2, 3)", "A: SELECT * FROM post ORDER BY id"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		tw.Play(t, like)
		for _, sent := range tw.Sent.During(func() {
			tw.Play(t, "A: INSERT INTO post VALUES (NULL, 'c', 1)", "A: INSERT INTO post (slug, id, likes) VALUES ('d', NULL, 1), (NULL, NULL, 2)",
				"A: INSERT INTO post VALUES (NULL, 'a', 1) ON DUPLICATE KEY UPDATE likes = 5", "A: REPLACE INTO post VALUES (NULL, 'a', 7)")
		}) {
			require.NotContains(t, sent.Text, " LEFT JOIN ")
			require.NotContains(t, sent.Text, "SELECT DISTINCT")
		}
		tw.Play(t, all, "A: INSERT INTO post VALUES (3, NULL, 1) ON DUPLICATE KEY UPDATE likes = 5", all, "A: INSERT INTO post VALUES (NULL, NULL, 1) ON DUPLICATE KEY UPDATE likes = 5", all,
			"A: begin", "A: INSERT INTO post VALUES (NULL, 'b', 1) ON DUPLICATE KEY UPDATE likes = likes * 2", all, "A: INSERT INTO post VALUES (NULL, 'x', 1)", all, "A: commit", like, all)
	})
}
