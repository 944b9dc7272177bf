package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestGreatestOfGroup proves that rows may be compared with a subquery, which
// MariaDB refuses (1235) where a counter is a subquery itself.
func TestGreatestOfGroup(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, author INT NOT NULL, likes INT NOT NULL);
INSERT INTO post VALUES (1, 1, 10), (2, 1, 20), (3, 2, 30);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		tw.Play(t, "A: UPDATE post SET likes = likes + 15 WHERE id = 1",
			"A: SELECT * FROM post WHERE (author, likes) IN (SELECT author, MAX(likes) FROM post GROUP BY author) ORDER BY id",
			"A: UPDATE post SET likes = likes + 1 WHERE id = 1",
			"A: SELECT id FROM post WHERE (likes, author) = (SELECT MAX(likes), 2 FROM post)")
	})
}
