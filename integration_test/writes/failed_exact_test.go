package writes

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFailedExactStatement proves that a statement that fails leaves the
// transaction with the snapshot that it had, but for the rows that it has folded.
func TestFailedExactStatement(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, title VARCHAR(9) NOT NULL UNIQUE, KEY (likes));\nINSERT INTO post VALUES (1, 50, 'a'), (2, 40, 'b'), (3, 30, 'c');\n"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, failing := range []string{
			"UPDATE post SET likes = likes * 1000000000 WHERE id = 1", "UPDATE post SET likes = likes * 2, title = 'c' WHERE id = 1", "SELECT nosuch, likes FROM post", "SELECT likes FROM post WHERE id = 1 LIMIT -1",
			"SELECT likes FROM post GROUP BY title HAVING nosuch > 1", "INSERT INTO post SELECT id, likes, title FROM post WHERE id = 1", "UPDATE post SET likes = NULL WHERE id = 1 AND likes > 0", "REPLACE INTO post VALUES (1, NULL, 'z')", "UPDATE post SET id = 2 WHERE id = 1",
			"UPDATE post SET likes = likes * 2 WHERE id = 99", "UPDATE post SET likes = likes * 1 WHERE id = 2", "SELECT likes, (SELECT likes FROM post) FROM post WHERE id = 1",
		} {
			t.Run(failing, func(t *testing.T) {
				tw, now := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes")), harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
				tw.PlayFolded(t, now, "A: begin RR", "A: SELECT * FROM post ORDER BY id", "B: UPDATE post SET likes = likes + 7 WHERE id IN (1, 2)", "A: SELECT id, likes FROM post ORDER BY id", "A: "+failing, "A: SELECT id, likes FROM post ORDER BY id", "A: SELECT likes FROM post ORDER BY likes DESC LIMIT 2", "A: commit", "A: SELECT id, likes FROM post ORDER BY id")
			})
		}
	})
}

// TestVainStatement proves that a statement that found no row to change leaves the
// transaction's snapshot to its queries, but for the rows that it has folded, also after
// writes of other rows, and that what is read to be stored is read as it is now.
func TestVainStatement(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, title VARCHAR(9) NOT NULL);\nCREATE TABLE log (id INT, likes INT);\nINSERT INTO post VALUES (1, 50, 'a'), (2, 40, 'b'), (3, 30, 'c');\n"
	const vain, look = "A: UPDATE post SET likes = likes - 1000 WHERE id = 1 AND likes >= 1000", "A: SELECT id, likes FROM post ORDER BY id"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, steps := range [][]string{
			{"A: INSERT INTO log SELECT id, likes FROM post WHERE id = 1", "A: SELECT * FROM log", look},
			{"A: REPLACE INTO log SELECT id, likes FROM post", "A: SELECT * FROM log ORDER BY id", look},
			{"A: UPDATE post SET title = 'x' WHERE id = 2", look},
			{"A: UPDATE post SET title = 'x' WHERE id IN (2, 3)", "A: UPDATE post SET likes = likes + 1 WHERE id = 3", look},
			{"A: UPDATE post SET title = 'x' WHERE id = 1", look},
			{"A: UPDATE post SET title = 'x' WHERE id IN ('2', '01')", look},
		} {
			tw, now := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes")), harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
			tw.PlayFolded(t, now, slices.Concat([]string{"A: begin RR", look, "B: UPDATE post SET likes = likes + 7 WHERE id = 1", vain, look}, steps, []string{"A: commit", look})...)
		}
	})
}

// TestVainStatementByOtherKeys proves it where rows are written by another key than
// that of the slots, or by one that is text.
func TestVainStatementByOtherKeys(t *testing.T) {
	const vain, look = "A: UPDATE post SET likes = likes - 1000 WHERE id = 'a' AND likes >= 1000", "A: SELECT id, slug, likes FROM post ORDER BY id"
	const vainBySlug = "A: UPDATE post SET likes = likes - 1000 WHERE slug = 'one' AND likes >= 1000"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const schema = "CREATE TABLE post (id VARCHAR(9) PRIMARY KEY, slug VARCHAR(9) NOT NULL UNIQUE, likes INT NOT NULL DEFAULT 0, title VARCHAR(9) NOT NULL DEFAULT '')"
		tw, now := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes")), harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		for _, steps := range [][]string{
			{vain, "A: UPDATE post SET title = 'x' WHERE id = 'c'"},
			{vain, "A: UPDATE post SET title = 'x' WHERE slug = 'three'"},
			{vainBySlug, "A: UPDATE post SET title = 'x' WHERE slug IN ('two', 'three')"},
			{vainBySlug, "A: UPDATE post SET likes = 3 WHERE slug = 'THREE'", look, "A: UPDATE post SET title = 'x' WHERE slug = 'ONE'"},
			{vain, "A: UPDATE post SET title = 'x' WHERE id = 'A'"},
			{vain, "A: UPDATE post SET likes = likes + 1 WHERE slug = 'one'"},
			{vain, "A: UPDATE post SET likes = likes + 1 WHERE slug = 'two'"},
			{vain, "A: DELETE FROM post WHERE slug = 'three'"},
			{vain, "A: DELETE FROM post WHERE slug = 'one'", look, "A: INSERT INTO post (id, slug) VALUES ('a', 'four')"},
			{vain, "A: DELETE FROM post WHERE id = 'A'", "A: INSERT INTO post (id, slug) VALUES ('A', 'one')"},
			{vain, "A: INSERT INTO post (id, slug) VALUES ('d', 'four')"},
			{vain, "A: INSERT INTO post (id, slug) VALUES ('x', 'three') ON DUPLICATE KEY UPDATE title = 'z'"},
			{vain, "A: INSERT INTO post (id, slug) VALUES ('x', 'one') ON DUPLICATE KEY UPDATE title = 'z'"},
			{vain, "A: SAVEPOINT s", "A: UPDATE post SET title = 'x' WHERE slug = 'one'", look, "A: ROLLBACK TO s"},
			{vain, "A: SAVEPOINT s", "A: UPDATE post SET title = 'x' WHERE slug = 'two'", look, "A: ROLLBACK TO s", look, "A: UPDATE post SET title = 'x' WHERE slug = 'one'"},
		} {
			for _, db := range []*sql.DB{tw.Plain, tw.Ours, now.Plain} {
				harness.Affected(t, db, "DELETE FROM post")
				harness.Affected(t, db, "INSERT INTO post (id, slug, likes) VALUES ('a', 'one', 50), ('b', 'two', 40), ('c', 'three', 30)")
			}
			tw.PlayFolded(t, now, slices.Concat([]string{"A: begin RR", look, "B: UPDATE post SET likes = likes + 7 WHERE id = 'a'"}, steps, []string{look, look, "A: commit", look})...)
		}
	})
}

// TestVainTouch proves that such a statement leaves the snapshot's times of other rows
// alone, too.
func TestVainTouch(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, touch := range []string{"DATETIME(3) NULL", "TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP", "DATETIME NULL DEFAULT '2025-01-02 03:04:05'"} {
			config := harness.Counters("post", "likes", "views")
			config.Tables[0].Touch = []string{"seen"}
			schema := "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0, seen " + touch + ");\nINSERT INTO post (id) VALUES (1), (2)"
			tw, now := harness.NewTwin(t, srv, schema, config), harness.NewTwin(t, srv, schema, config)
			const look = "A: SELECT id, likes, views, COALESCE(seen, 0) < 20250909000000 AS old FROM post ORDER BY id"
			tw.PlayFolded(t, now, "A: begin RR", look, "B: UPDATE post SET likes = likes + 7, seen = NOW() WHERE id = 1", "B: UPDATE post SET views = views + 7, seen = NOW() WHERE id = 2",
				"A: UPDATE post SET likes = likes - 1000 WHERE id = 1 AND likes >= 1000", look, "A: UPDATE post SET likes = 0 WHERE likes > 5000", look,
				"A: UPDATE post SET views = views * 2 WHERE id = 2", look, "A: UPDATE post SET likes = likes + 1, seen = NOW() WHERE id = 1", look, "A: commit", look)
		}
	})
}
