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
			"A: SELECT likes x, n x FROM post HAVING x > 1", "A: SELECT likes x, n x FROM post ORDER BY x", "A: SELECT likes x, n x FROM post GROUP BY x",
			"A: SELECT *, likes FROM post ORDER BY likes", "A: SELECT likes, n AS likes FROM post ORDER BY likes + 0", "A: SELECT likes, n AS likes FROM post GROUP BY likes, n ORDER BY 1")
	})
}

// TestGroupedByAlias proves that GROUP BY means the column where an alias has its name.
func TestGroupedByAlias(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(10) NOT NULL, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 'x', 1), (2, 'x', 5), (3, 'y', 5);
`
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, mode := range []string{"", "ONLY_FULL_GROUP_BY"} {
			tw := newTwin(t, srv, schema, counters("post", "likes"), "sql_mode='"+mode+"'")
			tw.play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT title AS likes, COUNT(*) FROM post GROUP BY likes ORDER BY 1, 2",
				"A: SELECT id AS likes FROM post GROUP BY likes ORDER BY 1", "A: SELECT title AS likes, COUNT(*) FROM post GROUP BY post.likes, title ORDER BY 1, 2",
				"A: SELECT id % 2 AS likes, COUNT(*) FROM post GROUP BY likes, id ORDER BY 1, 2")
		}
	})
}
