package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLaterColumn proves that a listed counter whose column a migration adds
// later is in nobody's way until then, and counts from then on.
func TestLaterColumn(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE game (id INT PRIMARY KEY, wins INT NOT NULL DEFAULT 0);\nCREATE TABLE room (id INT PRIMARY KEY)", harness.Counters("game", "points", "wins"))
		tw.Play(t,
			"A: INSERT INTO game (id) VALUES (1)",
			"A: SELECT * FROM game LIMIT 1",
			"A: UPDATE game SET wins = wins + 1 WHERE id = 1",
			"A: UPDATE game SET points = points + 1 WHERE id = 1", // no such column
			"A: ALTER TABLE game ADD COLUMN points INT NOT NULL DEFAULT 7",
			"A: UPDATE game SET points = points + 1, wins = wins + 1 WHERE id = 1",
			"A: SELECT * FROM game",
		)
		require.EqualValues(t, 7, harness.Number(t, tw.Direct, "SELECT points FROM game"), "it went to a slot")
	})
}

// TestColumnAddedMeanwhile proves that increments pending in a transaction, and
// those that a savepoint remembers, survive a counter that is added to their table.
func TestColumnAddedMeanwhile(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE note (id INT PRIMARY KEY);\nCREATE TABLE game (id INT PRIMARY KEY, wins INT NOT NULL DEFAULT 0);\nINSERT INTO game VALUES (1, 0), (2, 0), (3, 0)", harness.Counters("game", "points", "wins"))
		answers := harness.PlayOn(t, tw.Ours, []string{
			"A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
			"A: BEGIN",
			"A: SELECT * FROM note", // or the savepoint would make the ALTER wait
			"A: UPDATE game SET wins = wins + 1 WHERE id = 1",
			"A: SAVEPOINT s",
			"A: UPDATE game SET wins = wins + 10 WHERE id IN (1, 2)",
			"B: ALTER TABLE game ADD COLUMN points INT NOT NULL DEFAULT 0",
			"A: UPDATE game SET points = points + 5 WHERE id IN (1, 2)",
			"A: SELECT id, wins, points FROM game WHERE id = 2",
			"A: ROLLBACK TO s",
			"A: UPDATE game SET points = points + 7, wins = wins + 100 WHERE id IN (1, 3)",
			"A: COMMIT",
			"Z: SELECT id, wins, points FROM game ORDER BY id",
		})
		require.Equal(t, "[2 10 5]", harness.Brief(answers[8]))
		require.Equal(t, "[1 101 7][2 0 0][3 100 7]", harness.Brief(answers[12]))
	})
}

// TestNullWithSlots proves that slots left beside a NULL, which another client
// has written, stand in nobody's way.
func TestNullWithSlots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range []string{"UPDATE bag SET c = c * 2 WHERE id = 1", "UPDATE bag SET c = 3 WHERE id = 1", "DELETE FROM bag WHERE id = 1"} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE bag (id INT PRIMARY KEY, c INT NULL);\nINSERT INTO bag VALUES (1, 5)", harness.Counters("bag", "c"))
			tw.Play(t, "A: UPDATE bag SET c = c + 1 WHERE id = 1")
			harness.Affected(t, tw.Plain, "UPDATE bag SET c = NULL WHERE id = 1")
			harness.Affected(t, tw.Direct, "UPDATE bag SET c = NULL WHERE id = 1")
			tw.Play(t, "A: "+stmt, "A: SELECT * FROM bag")
		}
	})
}

// TestUnsoundKeys proves that values which a comparison has to convert get the
// answer of the plain statement: a warning in a query is an error in an UPDATE.
func TestUnsoundKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, mode := range []string{"", "sql_mode=''"} {
			var params []string
			if mode != "" {
				params = append(params, mode)
			}
			tw := harness.NewTwin(t, srv, "CREATE TABLE item (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO item (id) VALUES (1), (4), (7);\n"+
				"CREATE TABLE page (day DATE, name VARCHAR(20), hits INT NOT NULL DEFAULT 0, PRIMARY KEY (day, name))", &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "item", Counters: []string{"n"}}, {Table: "page", Counters: []string{"hits"}}}}, params...)
			tw.Play(t,
				"A: UPDATE item SET n = n + 1 WHERE id IN (7, 4, '1x')",
				"A: UPDATE item SET n = n + 1 WHERE id = '4'",
				"A: UPDATE item SET n = n + 1 WHERE id = 1 AND id = '1x'",
				"A: UPDATE page SET hits = hits + 1 WHERE day = 'nonsense' AND name = 'home'",
				"A: INSERT INTO page (day, name, hits) VALUES ('nonsense', 'home', 1) ON DUPLICATE KEY UPDATE hits = hits + 1",
				"A: BEGIN", "A: UPDATE item SET n = n + 1 WHERE id IN (7, 4, '1x')", "A: UPDATE item SET n = n + 1 WHERE id = '7'", "A: COMMIT",
				"A: SELECT * FROM item", "A: SELECT name, hits FROM page",
			)
		}
	})
}
