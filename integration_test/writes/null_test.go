package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNullIsFilled proves that COALESCE(c, 0) + 0 makes a number of NULL, beside
// another increment too, in a transaction and by many.
func TestNullIsFilled(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NULL);
INSERT INTO post VALUES (1, 1, NULL), (2, 2, 2), (3, 3, NULL), (4, 4, NULL);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes", "views"))
		tw.Play(t, "A: UPDATE post SET likes = likes + 1, views = COALESCE(views, 0) + 0 WHERE id = 1",
			"A: BEGIN", "A: UPDATE post SET likes = likes + 7, views = IFNULL(views, 0) + 0 WHERE id IN (2, 3)", "A: SELECT * FROM post ORDER BY id", "A: COMMIT",
			"A: UPDATE post SET views = 0 + IFNULL(post.views, 0), likes = likes + 1 WHERE id = 4", "A: UPDATE post SET likes = likes + 1, views = views + 0 WHERE id = 4",
			"A: SELECT * FROM post ORDER BY id")
	})
}
