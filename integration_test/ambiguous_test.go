package integration_test

import (
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNamedTwice proves that a name which the select list has twice is as ambiguous
// as it is on plain MySQL.
func TestNamedTwice(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 2, 1), (2, 3, 5);
`
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, schema, counters("post", "likes"))
		tw.play(t, "A: SELECT n AS likes, post.LIKES FROM post ORDER BY likes DESC", "A: SELECT likes, likes FROM post ORDER BY likes", "A: SELECT n likes, likes FROM post ORDER BY post.likes",
			"A: SELECT *, likes FROM post ORDER BY likes", "A: SELECT likes, n AS likes FROM post ORDER BY likes + 0", "A: SELECT likes, n AS likes FROM post GROUP BY likes, n ORDER BY 1")
	})
}
