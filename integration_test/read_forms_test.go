package integration_test

import (
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestVariablesInOrder proves that ranks and running sums by a variable follow the
// order of a counter, as they do where that is a column.
func TestVariablesInOrder(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, grp INT NOT NULL, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 1, 5), (2, 1, 3), (3, 2, 9), (4, 2, 1), (5, 3, 4);
`
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, schema, counters("post", "likes"))
		rank := []string{"A: UPDATE post SET likes = likes + 10 WHERE id = 4", "A: SET @r = 0, @g = NULL"}
		for _, query := range []string{
			"SELECT @r := @r + 1 AS place, id, likes FROM post ORDER BY likes DESC",
			"SELECT @r := @r + 1 AS place, p.id FROM post p ORDER BY p.likes DESC LIMIT 3",
			"SELECT @s := @s + 1 AS place, id, likes AS l FROM post, (SELECT @s := 0) x ORDER BY l DESC",
			"SELECT id, @r := IF(@g = grp, @r + 1, 1) AS place, @g := grp AS g FROM post ORDER BY grp, likes DESC",
			"SELECT q.* FROM (SELECT id, @r := @r + likes AS running FROM post WHERE grp < 3 ORDER BY likes LIMIT 10) q",
		} {
			tw.play(t, append(rank, "A: "+query, "A: SELECT @r")...)
		}
	})
}
