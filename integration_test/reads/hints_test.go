package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestIndexHints proves that queries with index hints are answered as on plain: FOR ORDER BY and FOR
// GROUP BY in one begin no clause (https://dev.mysql.com/doc/refman/8.4/en/index-hints.html).
func TestIndexHints(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, `CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(9) NOT NULL, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0, KEY (likes));
INSERT INTO post (id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
`, harness.Counters("post", "likes", "views"))
		tw.Play(t, "A: UPDATE post SET likes = likes + 2, views = views + 7 WHERE id IN (2, 3)", "A: UPDATE post SET likes = likes + 1 WHERE id = 3", "A: UPDATE post SET likes = likes + 5 WHERE id = 4")
		for _, hint := range []string{"FORCE INDEX (PRIMARY)", "USE INDEX ()", "FORCE INDEX FOR ORDER BY (likes)", "IGNORE INDEX FOR GROUP BY (likes)", "USE KEY FOR JOIN (PRIMARY) IGNORE INDEX FOR ORDER BY (PRIMARY)"} {
			for _, query := range []string{
				"SELECT * FROM post " + hint + " WHERE views > 1 ORDER BY id",
				"SELECT * FROM post " + hint + " WHERE views > (SELECT 1) ORDER BY id",
				"SELECT id, title, likes, views FROM post AS p " + hint + " ORDER BY id LIMIT 3",
				"SELECT id, likes FROM post " + hint + " ORDER BY likes DESC LIMIT 2",
				"SELECT id, likes FROM post " + hint + " WHERE title <> 'd' ORDER BY likes DESC LIMIT 2",
				"SELECT COUNT(*) FROM post " + hint + " WHERE views > 1",
				"SELECT title, SUM(likes) FROM post " + hint + " WHERE views > 1 GROUP BY title ORDER BY title",
				"SELECT p.id, q.likes FROM post p " + hint + " JOIN post q " + hint + " ON q.id = p.id WHERE p.views > 1 ORDER BY p.id",
			} {
				for range 3 { // looked at, and then not
					tw.Same(t, query)
				}
				tw.Play(t, "A: begin", "A: "+query+" FOR UPDATE", "A: commit")
			}
		}
	})
}
