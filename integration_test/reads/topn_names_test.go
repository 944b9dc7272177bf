package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

func TestTopLiteral(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, KEY (likes));\nINSERT INTO post VALUES (1, 50), (2, 40), (3, 30), (4, 20), (5, 10);\n", harness.Counters("post", "likes"))
		tw.Same(t, "SELECT 'likes', id FROM post ORDER BY likes DESC, id DESC LIMIT 2")
	})
}

func TestTopNameConst(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, KEY (likes));\nINSERT INTO post VALUES (1, 50), (2, 40), (3, 30), (4, 20), (5, 10);\n", harness.Counters("post", "likes"))
		tw.Same(t, "SELECT NAME_CONST('likes', 1), id FROM post ORDER BY likes DESC, id DESC LIMIT 2")
	})
}

func TestTopSubselect(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, KEY (likes));\nINSERT INTO post VALUES (1, 50), (2, 40), (3, 30), (4, 20), (5, 10);\nCREATE TABLE o (likes INT, id INT);\nINSERT INTO o VALUES (1, 7);\n", harness.Counters("post", "likes"))
		tw.Play(t, "A: UPDATE post SET likes = likes + 100 WHERE id IN (2, 5)",
			"A: SELECT (SELECT likes FROM o), id FROM post ORDER BY likes DESC, id DESC LIMIT 2",
			"A: SELECT (SELECT o.likes FROM o WHERE o.likes < post.likes) likes, id FROM post ORDER BY post.likes DESC, post.id DESC LIMIT 2",
			"A: SELECT (SELECT likes) AS l, id FROM post ORDER BY likes DESC, id DESC LIMIT 2",
			"A: SELECT (SELECT MAX(post.likes) FROM o) AS l, MAX(id) FROM post ORDER BY likes DESC, id DESC LIMIT 2",
			"A: SELECT (likes), id FROM post ORDER BY likes DESC, id DESC LIMIT 2",
			"A: SELECT -likes AS x, id AS ID2 FROM post ORDER BY likes DESC, id DESC LIMIT 2",
		)
	})
}
