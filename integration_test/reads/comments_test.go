package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestForeignComments proves that comments which are code for another database, as
// TiDB's, are comments: what they hold was counted. And words that only its UPDATE knows
// are errors.
func TestForeignComments(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		read := "A: SELECT id, likes, views FROM post ORDER BY id"
		for _, step := range []string{
			"A: UPDATE post SET likes = likes + 1 /*T! , views = views + 7 */ WHERE id = 1",
			"A: UPDATE post SET likes = likes + 1 WHERE id /*T! IN (1, 2) OR id */ = 3",
			"A: UPDATE post SET likes = likes + 1 /*T![auto_rand] + 5 */ WHERE id = 1 /*T! OR TRUE */",
			"A: INSERT INTO page (day, name, hits) VALUES ('2026-01-02', 'home', 1) ON DUPLICATE KEY UPDATE hits = hits + 1 /*T! + 5 */",
			"A: DELETE FROM post WHERE id = 2 /*T! OR TRUE */",
			"A: SELECT likes /*T! , views */ FROM post WHERE id = 1",
			"A: UPDATE post SET likes = likes + 1 WHERE id = 1 /*T! OR TRUE",
			"A: UPDATE post SET likes = likes + 1 WHERE id = 1 /* open",
			"A: UPDATE HIGH_PRIORITY post SET likes = likes + 1 WHERE id = 1",
			"A: UPDATE DELAYED post SET likes = likes + 1 WHERE id = 1",
			"A: UPDATE LOW_PRIORITY post SET likes = likes + 1 WHERE id = 1",
		} {
			tw.Play(t, step, "A: begin", step, read, "A: rollback", read, "A: SELECT hits FROM page ORDER BY day, name")
		}
	})
}

// TestHintComments proves that /*+ … */ is a comment but behind the words that have hints: a * before
// one was none, and no sum was read.
func TestHintComments(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(9), likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0, KEY (likes));\n"+
			"INSERT INTO post (id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c');\nCREATE TABLE copied LIKE post;\n", harness.Counters("post", "likes", "views"))
		for range 2 { // the second meets the first
			tw.Play(t, "A: UPDATE post SET likes = likes + 3, views = views + 7 WHERE id IN (2, 3)", "A: UPDATE post SET likes = likes + 1 WHERE id = 3")
		}
		for _, query := range []string{
			"SELECT * /*+ c */ FROM post WHERE id = 3",
			"SELECT * /*+ c */ FROM post ORDER BY id",
			"SELECT p.* /*+ c */ , 1 FROM post p ORDER BY p.id",
			"SELECT id, title FROM post p FORCE INDEX FOR /*+ c */ ORDER BY (likes) WHERE p.likes > 6 ORDER BY id",
			"SELECT /*+ NO_ICP(post) */ * /*+ c */ FROM post WHERE likes > 6",
			"SELECT MAX /*+ c */ (likes) FROM post",
		} {
			tw.Same(t, query)
			tw.Play(t, "A: begin", "A: "+query, "A: UPDATE post SET likes = likes + 1 WHERE id = 3", "A: "+query, "A: rollback")
		}
		tw.Play(t, "A: INSERT INTO copied SELECT * /*+ c */ FROM post", "A: SELECT * FROM copied ORDER BY id")
	})
}
