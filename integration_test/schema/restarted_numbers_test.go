package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRestartedNumbers proves that ALTER TABLE … AUTO_INCREMENT = n, which libraries for tests send for
// each table before each test, is sent as it is, and has nothing read or rolled up, as it changes nothing
// that is known of the table; and that rows and counts are those of plain MySQL behind it.
func TestRestartedNumbers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY AUTO_INCREMENT, title VARCHAR(20), likes INT NOT NULL DEFAULT 0)", harness.Counters("post", "likes"))
		const like = "UPDATE post SET likes = likes + 1 WHERE id = 1"
		tw.Play(t, "A: INSERT INTO post (title) VALUES ('a')", "A: "+like, "A: BEGIN", "A: "+like, "A: ALTER TABLE post AUTO_INCREMENT = 1000", "A: ROLLBACK",
			"A: INSERT INTO post (title) VALUES ('b')", "A: SELECT * FROM post", "A: ALTER TABLE none AUTO_INCREMENT = 5")
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 40)")
		conn := harness.Session(t, tw.Ours)
		harness.Affected(t, conn, like)
		var texts []string
		for _, s := range tw.Sent.During(func() { harness.Affected(t, conn, "ALTER TABLE post AUTO_INCREMENT 2000") }) {
			texts = append(texts, s.Text)
		}
		require.Equal(t, []string{"ALTER TABLE post AUTO_INCREMENT 2000"}, texts)
		harness.Affected(t, tw.Plain, "ALTER TABLE post AUTO_INCREMENT 2000")
		harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes + 41 WHERE id = 1")
		tw.Play(t, "A: INSERT INTO post (title) VALUES ('c')", "A: SELECT * FROM post")
	})
}
