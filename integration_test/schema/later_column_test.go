package schema

import (
	"slices"
	"strings"
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

// TestColumnAddedMeanwhile proves that a transaction with increments pending is rolled back
// with 1213, to be tried again, if their table gets another counter meanwhile, and that it
// is then counted once. One that has none of that table pending, that has gone back to a
// savepoint before them, or whose table gets another column goes on.
func TestColumnAddedMeanwhile(t *testing.T) {
	const schema = "CREATE TABLE note (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO note VALUES (1, 0);\n" +
		"CREATE TABLE game (id INT PRIMARY KEY, wins INT NOT NULL DEFAULT 0);\nINSERT INTO game VALUES (1, 0), (2, 0), (3, 0);\n" +
		"CREATE TABLE song (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)"
	const win, note, all = "A: UPDATE game SET wins = wins + 1 WHERE id = 1", "A: UPDATE note SET n = n + 1 WHERE id = 1", "Z: SELECT id, wins FROM game ORDER BY id"
	counter, other := "B: ALTER TABLE game ADD COLUMN points INT NOT NULL DEFAULT 0", "B: ALTER TABLE game ADD COLUMN title INT NOT NULL DEFAULT 0"
	first := []string{"A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: BEGIN", "A: SELECT * FROM note"} // or a savepoint would make the ALTER wait
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, c := range map[string]struct {
			steps []string
			want  string // of the table
			fails bool
		}{
			"pending":             {[]string{win, counter, "A: UPDATE game SET wins = wins + 5 WHERE id = 2", "A: COMMIT"}, "[1 0][2 0][3 0]", true},
			"pending, then read":  {[]string{win, counter, "A: SELECT wins FROM game WHERE id = 2", "A: COMMIT"}, "[1 0][2 0][3 0]", true},
			"pending, then other": {[]string{win, counter, "A: SELECT * FROM note", "A: COMMIT"}, "[1 0][2 0][3 0]", true},
			"behind a savepoint":  {[]string{win, "A: SAVEPOINT s", win, counter, "A: ROLLBACK TO s"}, "[1 0][2 0][3 0]", true},
			"tried again":         {[]string{win, counter, "A: COMMIT", "A: BEGIN", win, "A: COMMIT"}, "[1 1][2 0][3 0]", true},
			"rolled back":         {[]string{win, counter, "A: ROLLBACK"}, "[1 0][2 0][3 0]", false},
			"rolled back to":      {[]string{"A: SAVEPOINT s", win, "A: ROLLBACK TO s", counter, win, "A: COMMIT"}, "[1 1][2 0][3 0]", false},
			"nothing pending":     {[]string{counter, win, "A: COMMIT"}, "[1 1][2 0][3 0]", false},
			"other table":         {[]string{note, counter, win, "A: COMMIT"}, "[1 1][2 0][3 0]", false},
			"other column":        {[]string{win, "A: SAVEPOINT s", win, other, win, "A: ROLLBACK TO s", win, "A: COMMIT"}, "[1 2][2 0][3 0]", false},
			"other DDL":           {[]string{win, "B: CREATE TABLE more (id INT PRIMARY KEY)", "B: ALTER TABLE song ADD COLUMN x INT", win, "A: COMMIT"}, "[1 2][2 0][3 0]", false},
		} {
			t.Run(name, func(t *testing.T) {
				config := harness.Counters("game", "points", "wins")
				config.Tables = slices.Concat(config.Tables, harness.Counters("note", "n").Tables, harness.Counters("song", "n").Tables)
				tw := harness.NewTwin(t, srv, schema, config)
				answers := harness.PlayOn(t, tw.Ours, slices.Concat(first, c.steps, []string{all}))
				require.Equal(t, c.want, harness.Brief(answers[len(answers)-1]), answers)
				text := strings.Join(answers, "\n")
				if c.fails {
					require.Equal(t, 1, strings.Count(text, "error"), text)
					require.Contains(t, text, "error 1213")
				} else {
					require.NotContains(t, text, "error")
				}
			})
		}
	})
}

// TestColumnMadeMeanwhile proves that columns which the driver itself makes behind the others
// of a slots table, as for a time that is set beside increments or for a counter that another
// process lists, fail no transaction: what is pending stays so, before savepoints and behind.
func TestColumnMadeMeanwhile(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0, updated_at DATETIME NOT NULL DEFAULT '2020-01-01');\nINSERT INTO post (id) VALUES (1), (2), (3)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, made := range []string{"updated_at", "views"} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
			x, saved := harness.Session(t, tw.Ours), harness.Session(t, tw.Ours)
			for _, begun := range []string{"BEGIN", "UPDATE post SET likes = likes + 1 WHERE id = 1", "UPDATE post SET likes = likes + 10 WHERE id = 2"} {
				harness.Affected(t, x, begun)
			}
			for _, begun := range []string{"BEGIN", "UPDATE post SET likes = likes + 100 WHERE id = 1", "SAVEPOINT s", "UPDATE post SET likes = likes + 1000 WHERE id IN (1, 3)"} {
				harness.Affected(t, saved, begun)
			}
			if made == "views" {
				config := *tw.Config
				config.Tables = harness.Counters("post", "likes", "views").Tables
				newer, _ := harness.OpenOurs(t, tw.OursDSN, &config)
				harness.Affected(t, newer, "UPDATE post SET views = views + 1 WHERE id = 3")
				_, err := countermysql.Check(t.Context(), tw.Ours) // notices it
				require.NoError(t, err)
			} else {
				harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 0, updated_at = NOW() WHERE id = 3")
			}
			tw.Learned(t, "post_slots", made)
			harness.Affected(t, x, "UPDATE post SET likes = likes + 1, views = views + 1 WHERE id = 1")
			require.EqualValues(t, 2, harness.Number(t, x, "SELECT likes FROM post WHERE id = 1"))
			harness.Affected(t, x, "COMMIT")
			harness.Affected(t, saved, "UPDATE post SET likes = likes + 1000 WHERE id = 3")
			harness.Affected(t, saved, "ROLLBACK TO s")
			harness.Affected(t, saved, "UPDATE post SET likes = likes + 1, views = views + 1 WHERE id = 1")
			harness.Affected(t, saved, "COMMIT")
			require.Contains(t, harness.Queried(t.Context(), tw.Ours, "SELECT id, likes, views FROM post ORDER BY id"), "[1 103 2][2 10 0][3 0 "+map[string]string{"views": "1", "updated_at": "0"}[made]+"]")
		}
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
