package schema

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRestartedNumbers proves that ALTER TABLE … AUTO_INCREMENT = n, which libraries for tests send for
// each table before each test, has no schema read, as it changes nothing that is known of the table; that
// rows and counts are those of plain MySQL behind it; and that a key which is given again has no slots.
func TestRestartedNumbers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY AUTO_INCREMENT, title VARCHAR(20), likes INT NOT NULL DEFAULT 0)", harness.Counters("post", "likes"))
		const like = "UPDATE post SET likes = likes + 1 WHERE id = 1"
		tw.Play(t, "A: INSERT INTO post (title) VALUES ('a')", "A: "+like, "A: BEGIN", "A: "+like, "A: ALTER TABLE post AUTO_INCREMENT = 1000", "A: ROLLBACK",
			"A: INSERT INTO post (title) VALUES ('b')", "A: SELECT * FROM post", "A: ALTER TABLE none AUTO_INCREMENT = 5")
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 40)")
		conn := harness.Session(t, tw.Ours)
		harness.Affected(t, conn, like)
		for _, s := range tw.Sent.During(func() { harness.Affected(t, conn, "ALTER TABLE post AUTO_INCREMENT 2000") }) {
			require.NotRegexp(t, "information_schema|SHOW", s.Text)
		}
		harness.Affected(t, tw.Plain, "ALTER TABLE post AUTO_INCREMENT 2000")
		harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes + 41 WHERE id = 1")
		tw.Play(t, "A: INSERT INTO post (title) VALUES ('c')", "A: SELECT * FROM post")

		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (2000, 3, 40)")
		for _, db := range []*sql.DB{tw.Direct, tw.Plain} {
			harness.Affected(t, db, "DELETE FROM post WHERE id = 2000")
		}
		tw.Play(t, "A: ALTER TABLE post AUTO_INCREMENT = 2000", "A: INSERT INTO post (title) VALUES ('d')", "A: SELECT * FROM post")
	})
}
