package reads

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const karma = `
CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20) UNIQUE, karma INT NOT NULL DEFAULT 0, ups INT UNSIGNED NOT NULL DEFAULT 3, title VARCHAR(20), seen DATETIME(6) NULL);
CREATE TABLE posts (id INT PRIMARY KEY AUTO_INCREMENT, user_id INT, slug VARCHAR(20), likes INT NOT NULL DEFAULT 0, title VARCHAR(20) DEFAULT '', parent INT);
CREATE TABLE comment (id INT PRIMARY KEY, post_id INT, likes INT NOT NULL DEFAULT 0, karma INT NOT NULL DEFAULT 0, KEY (post_id));
INSERT INTO users (id, name, karma) VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4);
INSERT INTO posts (id, user_id, slug, likes, parent) VALUES (1, 1, 'one', 10, NULL), (2, 2, 'two', 20, 1), (3, 2, 'three', 30, 1), (4, 4, 'four', 40, 2);
INSERT INTO comment (id, post_id, likes, karma) VALUES (1, 1, 1, 5), (2, 1, 2, 5), (3, 2, 3, 5), (4, 4, 30, 5);
`

func karmaCounters() *countermysql.Config {
	return &countermysql.Config{Tables: []countermysql.TableConfig{
		{Table: "users", Counters: []string{"karma", "ups"}, Touch: []string{"seen"}},
		{Table: "posts", Counters: []string{"likes"}},
	}}
}

// readNone read no counter, and write none but by adding to it.
var readNone = []string{
	"UPDATE users SET karma = karma + 5 WHERE id = (SELECT user_id FROM posts WHERE id = 2)",
	"UPDATE users SET karma = karma - 5, title = 'x' WHERE id IN (SELECT user_id FROM posts WHERE slug LIKE 't%')",
	"UPDATE users SET title = (SELECT slug FROM posts WHERE id = 1), karma = karma + 1 WHERE id = 1",
	"UPDATE users SET title = 'y' WHERE id = 1 AND EXISTS (SELECT 1 FROM posts p WHERE p.user_id = users.id)",
	"UPDATE posts SET likes = likes + 1 WHERE id = 1 AND user_id = (SELECT id FROM users WHERE name = 'a')",
	"UPDATE users u JOIN posts p ON p.user_id = u.id SET u.karma = u.karma + 1 WHERE p.id = 1",
	"UPDATE users u JOIN posts p ON p.user_id = u.id SET u.karma = u.karma + 1, p.title = u.name WHERE p.id < 3",
	"UPDATE users u JOIN posts p ON p.user_id = u.id SET u.karma = u.karma + 1, p.likes = p.likes + 2, ups = ups + 1 WHERE p.id = 2",
	"UPDATE users u, posts p SET p.title = 'same' WHERE p.user_id = u.id AND u.name = 'b'",
	"UPDATE posts p JOIN posts q ON q.id = p.parent SET p.title = q.slug, p.likes = p.likes + 3",
	"UPDATE comment c JOIN posts p ON p.id = c.post_id SET c.likes = c.likes + 1, c.karma = c.likes WHERE p.slug = 'one'",
	"UPDATE comment c JOIN posts p ON p.id = c.post_id JOIN users u ON u.id = p.user_id SET p.likes = p.likes + 1 WHERE c.likes > 2 AND c.karma = 5",
	"UPDATE posts SET user_id = (SELECT MAX(id) FROM users) WHERE id = 3",
	"UPDATE users u JOIN (SELECT user_id, COUNT(*) AS n FROM posts GROUP BY user_id) x ON x.user_id = u.id SET u.title = x.n, karma = karma + 1",
	"UPDATE users LEFT JOIN posts USING (id) SET users.title = posts.slug",
	"DELETE p FROM posts p JOIN users u ON u.id = p.user_id WHERE u.name = 'b'",
	"DELETE FROM posts WHERE user_id IN (SELECT id FROM users WHERE name = 'd')",
	"DELETE posts, users FROM posts JOIN users ON users.id = posts.user_id WHERE posts.slug = 'one'",
	"DELETE FROM c USING comment AS c JOIN posts p ON p.id = c.post_id WHERE c.likes > 2",
	"DELETE FROM users WHERE NOT EXISTS (SELECT 1 FROM posts WHERE posts.user_id = users.id)",
	"INSERT INTO posts (id, user_id) VALUES (9, (SELECT id FROM users WHERE name = 'c'))",
}

// readSome read counters, or overwrite them.
var readSome = []string{
	"UPDATE users u JOIN posts p ON p.user_id = u.id SET u.karma = p.likes WHERE p.id = 1",
	"UPDATE users u JOIN posts p ON p.user_id = u.id SET u.karma = 0 WHERE p.id < 3",
	"UPDATE users u JOIN posts p ON p.user_id = u.id SET u.karma = u.karma + p.id WHERE p.id = 4",
	"UPDATE users u JOIN posts p ON p.user_id = u.id SET u.ups = u.ups - 4 WHERE p.id = 4",
	"UPDATE users u JOIN comment c ON c.id = u.id SET u.title = karma + 1",
	"UPDATE users u JOIN comment c ON c.id = u.id SET u.title = u.karma WHERE c.likes < 9",
	"UPDATE posts SET likes = 0 WHERE user_id IN (SELECT id FROM users WHERE name = 'b')",
	"UPDATE posts SET likes = (SELECT COUNT(*) FROM comment WHERE post_id = 1) WHERE id = 1",
	"UPDATE posts SET likes = (SELECT COUNT(*) FROM users WHERE id < 3) WHERE id = 1",
	"UPDATE users SET title = 'hot' WHERE id IN (SELECT user_id FROM posts WHERE likes > 15)",
	"UPDATE users SET karma = karma + 1 WHERE id IN (SELECT p.user_id FROM posts p WHERE p.likes > 15)",
	"UPDATE users SET title = 'hot' WHERE id IN (SELECT x.user_id FROM (SELECT * FROM posts) x WHERE x.likes > 15)",
	"UPDATE users SET title = 'hot' WHERE (1, 10, 'one') IN (SELECT user_id, likes - 1, slug FROM posts) AND id = 1",
	"UPDATE users u NATURAL JOIN comment SET u.title = 'natural'",
	"UPDATE users u JOIN comment c USING (karma) SET u.title = 'using'",
	"UPDATE comment c JOIN posts p ON p.id = c.post_id SET c.karma = p.likes",
	"UPDATE users u JOIN posts p ON p.user_id = u.id SET p.title = 'rich' WHERE u.karma > 3",
	"UPDATE posts p JOIN users u ON u.id = p.user_id SET p.id = p.id + 100 WHERE u.name = 'b'",
	"UPDATE posts SET id = id + 100 WHERE user_id = (SELECT id FROM users WHERE name = 'd')",
	"DELETE p FROM posts p JOIN users u ON u.id = p.user_id WHERE u.karma > 3",
	"DELETE FROM posts WHERE likes > 15 AND user_id IN (SELECT id FROM users WHERE name = 'b')",
	"DELETE FROM comment WHERE post_id IN (SELECT id FROM posts WHERE likes > 35)",
	"INSERT INTO posts (id, user_id) VALUES (9, (SELECT karma FROM users WHERE name = 'c'))",
}

// TestReadsNoCounter proves that statements which name several counter tables, and read
// none of their counters, run as they are, and that those which do read some answer as on
// plain MySQL: alone and in transactions, with and without an older snapshot (READ COMMITTED) and increments
// that are pending. What is read before and behind them is the same.
func TestReadsNoCounter(t *testing.T) {
	t.Parallel()
	show := []string{
		"A: SELECT * FROM users ORDER BY id", "A: SELECT * FROM posts ORDER BY id", "A: SELECT * FROM comment ORDER BY id",
		"A: SELECT u.id, p.id, u.karma, p.likes FROM users u JOIN posts p ON p.user_id = u.id ORDER BY 1, 2",
	}
	add := []string{
		"UPDATE posts SET likes = likes + 1 WHERE id = 1", "UPDATE posts SET likes = likes + 2 WHERE id = 4", "UPDATE users SET karma = karma + 1, ups = ups + 1 WHERE id = 2", "UPDATE users SET karma = karma + 1 WHERE id = 4",
	}
	by := func(client string, stmts ...string) (steps []string) {
		for _, s := range stmts {
			steps = append(steps, client+": "+s)
		}
		return steps
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, stmt := range append(append([]string{}, readNone...), readSome...) {
			t.Run(stmt, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, karma, karmaCounters())
				tw.Play(t, by("B", add...)...)
				before := len(harness.Stats(t, tw.Ours).Exact)
				for _, level := range []string{"RR", "RC"} {
					for _, old := range []bool{false, true} {
						steps := by("A", "begin "+level)
						if old && level == "RC" { // under REPEATABLE READ, a table of which rows are written whose keys are not given is read as it is now
							steps = append(steps, show[:3]...)
						}
						steps = append(steps, by("B", add...)...)
						steps = append(append(append(steps, "A: "+stmt), show...), "A: rollback")
						tw.Play(t, append(steps, show...)...)
					}
				}
				tw.Play(t, append(append(by("B", add...), "A: "+stmt), show...)...)
				if i < len(readNone) {
					require.Len(t, harness.Stats(t, tw.Ours).Exact, before, fmt.Sprint(harness.Stats(t, tw.Ours).Exact))
				}
				for _, level := range []string{"RR", "RC"} {
					steps := append(append(by("A", append([]string{"begin " + level}, add...)...), "A: "+stmt), show...)
					tw.Play(t, append(append(steps, "A: commit"), show...)...)
				}
				tw.RolledUp(t, "users", "posts")
			})
		}
	})
}

// TestDeletedByJoin proves that what the slots of rows deleted by a join held does not come
// back with a row of the same key: in the same transaction or later, inserted by name, by a
// query or by a changed key, or with an id that is given anew.
func TestDeletedByJoin(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, insert := range []string{
			"INSERT INTO posts (id, user_id) VALUES (4, 1)",
			"INSERT INTO posts (id, user_id) SELECT 4, id FROM users WHERE id = 1",
			"UPDATE posts SET id = 4 WHERE id = 1",
			"REPLACE INTO posts (id, user_id, likes) VALUES (4, 1, 3)",
			"INSERT INTO posts (id, user_id, likes) VALUES (4, 1, 3) ON DUPLICATE KEY UPDATE likes = likes + 1",
		} {
			for _, level := range []string{"", "RR", "RC"} {
				for _, pending := range []bool{false, true} {
					tw := harness.NewTwin(t, srv, karma, karmaCounters())
					steps := []string{"B: UPDATE posts SET likes = likes + 7 WHERE id = 4"}
					if level != "" {
						steps = append(steps, "A: begin "+level)
					}
					if pending {
						steps = append(steps, "A: UPDATE posts SET likes = likes + 5 WHERE id = 4", "A: UPDATE posts SET likes = likes + 5 WHERE id = 1")
					}
					steps = append(steps, "A: DELETE FROM posts WHERE user_id IN (SELECT id FROM users WHERE name = 'd')", "A: SELECT * FROM posts", "A: "+insert, "A: SELECT * FROM posts",
						"A: UPDATE posts SET likes = likes + 1 WHERE id = 4")
					if level != "" {
						steps = append(steps, "A: commit")
					}
					tw.Play(t, append(steps, "B: SELECT * FROM posts", "B: UPDATE posts SET likes = likes + 1 WHERE id = 4", "B: SELECT * FROM posts")...)
					tw.RolledUp(t, "posts")
				}
			}
		}
		tw := harness.NewTwin(t, srv, karma, karmaCounters())
		tw.Play(t, "A: UPDATE posts SET likes = likes + 7 WHERE id = 4", "A: DELETE p FROM posts p JOIN users u ON u.id = p.user_id WHERE u.name = 'd'", "A: ALTER TABLE posts AUTO_INCREMENT = 1",
			"A: INSERT INTO posts (user_id) VALUES (1)", "A: SELECT * FROM posts")
	})
}
