package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLockTables pins that LOCK TABLES of a counter table is refused, by a view's name and
// by FLUSH TABLES too, with nothing done; that it means for other tables what it always
// did; and that a counter table which the server locks along with others can't be used.
func TestLockTables(t *testing.T) {
	const likes1 = "A: UPDATE post SET likes = likes + 1 WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		tw.Play(t, "A: CREATE VIEW liked AS SELECT id, likes FROM post", "A: CREATE TABLE word (id INT PRIMARY KEY)",
			"A: CREATE TRIGGER said BEFORE INSERT ON word FOR EACH ROW UPDATE page SET hits = hits + 1 WHERE name = 'home'")
		const refused = " ⇒ affected 0 ⇒ refused"
		for _, steps := range [][]string{
			{"A: LOCK TABLES note WRITE", "A: DELETE FROM page WHERE hits > 3", "A: UPDATE page SET hits = hits * 2", "A: SELECT hits FROM page", "A: UPDATE page SET hits = hits + 1 WHERE name = 'home' AND day = '2026-01-01'",
				"A: INSERT INTO note VALUES (1, '')", "A: SELECT name FROM page", "A: UNLOCK TABLES", likes1},
			{"A: LOCK TABLES post WRITE" + refused, "A: UNLOCK TABLES", "B: UPDATE post SET likes = likes + 1 WHERE id = 1"},
			{"A: LOCK TABLES liked READ" + refused, "A: UNLOCK TABLES"},
			{"A: LOCK TABLES post AS p READ, note AS q WRITE" + refused, "A: UNLOCK TABLES"},
			{"A: FLUSH TABLES post WITH READ LOCK" + refused, "A: UNLOCK TABLES"}, {"A: FLUSH LOCAL TABLES post, note FOR EXPORT;" + refused, "A: UNLOCK TABLES"},
			{"A: LOCK TABLES note READ", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES note p nonsense", "A: SELECT hits FROM page", "A: LOCK TABLES nosuch READ", likes1, "A: UPDATE post SET likes = 3 WHERE id = 2", "A: SELECT likes FROM post"},
			{"A: LOCK TABLES note WRITE", "A: BEGIN", "A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT"},
			{"A: LOCK TABLES note WRITE", "A: begin RC", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: commit"},
			{"A: LOCK TABLES note WRITE", "A: LOCK TABLES information_schema.tables WRITE", likes1, "A: SELECT likes FROM post", "A: UNLOCK TABLES"},
			{"A: begin", likes1, "A: FLUSH TABLES note WITH READ LOCK", "A: SELECT hits FROM page", "A: UNLOCK TABLES", "A: rollback"},
			{"A: FLUSH TABLES WITH READ LOCK", "A: SELECT likes FROM post", "A: UNLOCK TABLES", likes1},
			{"A: begin", likes1, "A: FLUSH TABLES post", likes1, "A: rollback"},
			{"A: UPDATE page SET hits = hits + 1 WHERE name = 'home'", "A: LOCK TABLES word WRITE", "A: SELECT hits FROM page WHERE day = '2026-01-02' ⇒ [4] ⇒ refused", "A: INSERT INTO word VALUES (1) ⇒ affected 1 ⇒ refused", "A: UNLOCK TABLES", "A: INSERT INTO word VALUES (2)", "A: DELETE FROM word WHERE id < 2 ⇒ affected 1 ⇒ affected 0", "A: DELETE FROM word", "A: UPDATE page SET hits = 0 WHERE name = 'home'"},
		} {
			tw.Reset(t)
			tw.Accepted(t, append(steps, harness.Everything...)...)
		}
		tw.Reset(t) // the transaction goes on
		tx, err := tw.Ours.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer tx.Rollback()
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		_, err = tx.Exec("LOCK TABLES post WRITE")
		var refusal *countermysql.RefusedError
		require.ErrorAs(t, err, &refusal)
		require.NoError(t, tx.Rollback())
		require.EqualValues(t, 10, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestSchemaUnderOwnLocks proves that who has locked a table and tried DDL does not wait
// for its own lock: to read what the DDL has done of the schema, the driver looks
// whether a table without a key has more than one row.
func TestSchemaUnderOwnLocks(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("hits", "cnt")
		config.Tables = append(config.Tables, countermysql.TableConfig{Table: "post", Counters: []string{"likes"}})
		tw := harness.NewTwin(t, srv, "CREATE TABLE hits (cnt INT NOT NULL);\nCREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL);\nCREATE TABLE note (id INT);\nINSERT INTO hits VALUES (0);\nINSERT INTO post VALUES (1, 0)", config)
		for _, ddl := range []string{"TRUNCATE post", "ALTER TABLE hits COMMENT 'x'", "ALTER TABLE hits ADD COLUMN more INT", "CREATE TABLE other (id INT)"} {
			tw.Play(t, "A: UPDATE hits SET cnt = cnt + 1", "A: LOCK TABLES note WRITE", "A: "+ddl, "A: UPDATE hits SET cnt = cnt + 1", "A: SELECT * FROM hits",
				"A: UNLOCK TABLES",
				"A: UPDATE hits SET cnt = cnt + 1", "B: SELECT * FROM hits", "B: SELECT * FROM post")
		}
	})
}
