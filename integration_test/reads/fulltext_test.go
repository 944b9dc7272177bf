package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFullText proves that rows are found by a full-text index whether the server
// merges the view or not: an error said that there is no such index.
func TestFullText(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, author INT NOT NULL, title VARCHAR(50) NOT NULL, likes INT NOT NULL DEFAULT 0, updated_at DATETIME NULL, FULLTEXT KEY (title));
INSERT INTO post VALUES (1, 1, 'hello world', 5, '2026-01-02 00:00:00'), (2, 1, 'hello again', 6, NULL), (3, 2, 'another', 7, NULL);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		modes := []string{"optimizer_switch='derived_merge=on'"}
		if harness.MariaDB(srv) { // on MySQL a hint merges the view nevertheless
			modes = append(modes, "optimizer_switch='derived_merge=off'")
		}
		for _, mode := range modes {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"), mode)
			for _, query := range []string{
				"SELECT id, likes FROM post WHERE MATCH (title) AGAINST ('hello') ORDER BY likes DESC, id",
				"SELECT id, likes, MATCH (title) AGAINST ('world') > 0 AS found FROM post ORDER BY id",
				"SELECT title AS likes, COUNT(*) FROM post WHERE MATCH (title) AGAINST ('hello') GROUP BY likes ORDER BY 1",
				"SELECT author, SUM(likes) FROM post WHERE MATCH (title) AGAINST ('+hello' IN BOOLEAN MODE) GROUP BY author WITH ROLLUP",
				"SELECT * FROM (SELECT id, likes FROM post WHERE MATCH (title) AGAINST ('hello') ORDER BY likes DESC LIMIT 1) x",
				"SELECT id FROM post WHERE MATCH (author) AGAINST ('hello') AND likes > 3",
			} {
				tw.Play(t, "A: UPDATE post SET likes = likes + 5 WHERE id = 1", "A: "+query)
			}
		}
	})
}
