package schema

import (
	"testing"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLockTables proves that LOCK TABLES means for counter tables what it means
// for all: those that it leaves out can't be used, and nothing of ours unlocks
// them; BEGIN and another LOCK TABLES do. Those that the server locks along with others
// can be used, and say all.
func TestLockTables(t *testing.T) {
	const likes1 = "A: UPDATE post SET likes = likes + 1 WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		tw.Play(t, "A: CREATE VIEW liked AS SELECT id, likes FROM post", "A: CREATE TABLE word (id INT PRIMARY KEY)",
			"A: CREATE TRIGGER said BEFORE INSERT ON word FOR EACH ROW UPDATE page SET hits = hits + 1 WHERE name = 'home'")
		for _, steps := range [][]string{
			{"A: LOCK TABLES note WRITE", "A: DELETE FROM post WHERE likes > 3", "A: UPDATE post SET likes = likes * 2", "A: SELECT likes FROM post", "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
				"A: INSERT INTO note VALUES (1, '')", "A: SELECT title FROM page", "A: UNLOCK TABLES", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"},
			{"A: LOCK TABLES post WRITE", "A: BEGIN", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: COMMIT"},
			{"A: LOCK TABLES post WRITE", "A: begin RC", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: commit"},
			{"A: LOCK TABLES note READ", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES post WRITE", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES post WRITE, note READ",
				"A: SELECT likes FROM post WHERE id = 1", "A: LOCK TABLES note READ", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UNLOCK TABLES"},
			{"A: LOCK TABLES post WRITE", "A: LOCK TABLES post AS p READ, note AS p WRITE", "A: SELECT title FROM page", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES post p nonsense", "A: SELECT title FROM page", "A: LOCK TABLES nosuch READ", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"},
			{"A: LOCK TABLES note WRITE", "A: LOCK TABLES note AS p READ, page AS p WRITE", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UNLOCK TABLES"},
			{"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES post AS p READ, note AS p WRITE", "A: SELECT likes FROM post WHERE id = 1", "A: rollback"},
			{"B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES liked WRITE", "A: SELECT * FROM liked ORDER BY id", "A: UPDATE liked SET likes = likes * 2 WHERE id = 1", "A: SELECT * FROM liked ORDER BY id", "A: UNLOCK TABLES"},
			// a foreign key or a trigger locks more tables than are named
			{"A: LOCK TABLES author WRITE", "A: SELECT likes FROM post", likes1, "A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: SELECT hits FROM page", "A: SELECT likes FROM post", "A: UNLOCK TABLES", likes1},
			{"A: LOCK TABLES author WRITE", "A: LOCK TABLES note WRITE", "A: SELECT likes FROM post", likes1, "A: UNLOCK TABLES"},
			{"A: SET autocommit = 0", "A: LOCK TABLES author WRITE", likes1, "A: SELECT likes FROM post", "A: ROLLBACK", "A: SELECT likes FROM post", "A: UNLOCK TABLES", "A: SET autocommit = 1"},
			{"A: UPDATE page SET hits = hits + 1 WHERE name = 'home'", "A: LOCK TABLES word WRITE", "A: SELECT hits FROM page ORDER BY day", "A: INSERT INTO word VALUES (1)", "A: SELECT hits FROM page ORDER BY day", "A: UNLOCK TABLES", "A: DELETE FROM word"},
			{"A: LOCK TABLES note WRITE", "A: LOCK TABLES information_schema.tables WRITE", likes1, "A: SELECT likes FROM post", "A: UNLOCK TABLES"},
			{"A: FLUSH TABLES post WITH READ LOCK", "A: SELECT likes FROM post", likes1, "A: SELECT name FROM author", "A: UNLOCK TABLES", likes1},
			{"A: FLUSH LOCAL TABLES post, note FOR EXPORT;", "A: SELECT likes FROM post", "A: UNLOCK TABLES", likes1},
			{"A: begin", likes1, "A: FLUSH TABLES note WITH READ LOCK", "A: SELECT likes FROM post", "A: UNLOCK TABLES", "A: rollback"},
			{"A: begin", likes1, "A: FLUSH TABLES post", likes1, "A: rollback"},
			{"A: LOCK TABLES post WRITE", "A: FLUSH TABLES post WITH READ LOCK", likes1, "A: SELECT likes FROM post", "A: UNLOCK TABLES"},
		} {
			tw.Reset(t)
			tw.Play(t, append(steps, harness.Everything...)...)
		}
	})
}

// TestSchemaUnderOwnLocks proves that who has locked a table and tried DDL does not wait
// for its own lock: to read what the DDL has done of the schema, the driver looks
// whether a table without a key has more than one row.
func TestSchemaUnderOwnLocks(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("hits", "cnt")
		config.Tables = append(config.Tables, countermysql.TableConfig{Table: "post", Counters: []string{"likes"}})
		tw := harness.NewTwin(t, srv, "CREATE TABLE hits (cnt INT NOT NULL);\nCREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL);\nINSERT INTO hits VALUES (0);\nINSERT INTO post VALUES (1, 0)", config)
		for _, ddl := range []string{"TRUNCATE post", "ALTER TABLE hits COMMENT 'x'", "ALTER TABLE hits ADD COLUMN more INT", "CREATE TABLE other (id INT)"} {
			tw.Play(t, "A: UPDATE hits SET cnt = cnt + 1", "A: LOCK TABLES hits WRITE", "A: "+ddl, "A: UPDATE hits SET cnt = cnt + 1", "A: SELECT * FROM hits",
				"A: LOCK TABLES hits WRITE, post WRITE", "A: UPDATE post SET likes = likes + 1", "A: UNLOCK TABLES",
				"A: UPDATE hits SET cnt = cnt + 1", "B: SELECT * FROM hits", "B: SELECT * FROM post")
		}
	})
}
