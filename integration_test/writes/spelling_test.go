package writes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestKeySpelledAnew proves that slots are those of a row whose key another client
// has written in other letters since, which are the same to its collation.
func TestKeySpelledAnew(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		const rows = "A: SELECT * FROM page ORDER BY day, name"
		increments := []string{"A: UPDATE page SET name = 'home' WHERE name = 'home'", "A: UPDATE page SET hits = hits + 5 WHERE name = 'home' AND day = '2026-01-01'",
			"A: UPDATE page SET hits = hits + 7 WHERE name = 'home' AND day = '2026-01-02'", "O: UPDATE page SET name = 'HOME' WHERE name = 'home'", rows}
		for _, steps := range [][]string{
			{"A: UPDATE page SET hits = 0 WHERE day = '2026-01-01' AND name = 'home'"},
			{"A: UPDATE page SET hits = hits * 2"},
			{"A: BEGIN", "A: SELECT COUNT(*) FROM page", "A: UPDATE page SET hits = hits * 2 WHERE hits > 1", rows, "A: UPDATE page SET hits = hits - 1 WHERE hits > 1", rows, "A: COMMIT"},
			{"A: DELETE FROM page WHERE day = '2026-01-01' AND name = 'home'", "A: INSERT INTO page VALUES ('2026-01-01', 'home', 1)"},
			{harness.RollUpStep},
		} {
			tw.Accepted(t, append(append(append([]string{}, increments...), steps...), rows)...)
		}
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM page_slots"), "the rollup has left slots")
	})
}

// TestKeySpelledAnewInside proves that slots which a transaction has rolled up are
// not rolled up again when it has written their row's key in other letters.
func TestKeySpelledAnewInside(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		const rows = "A: SELECT * FROM page ORDER BY day, name"
		for _, spell := range [][]string{
			{"A: REPLACE INTO page (day, name) VALUES ('2026-01-01', 'HOME')"},
			{"A: UPDATE page SET name = 'HOME', hits = 0 WHERE day = '2026-01-01' AND name = 'home'"},
			{"A: DELETE FROM page WHERE day = '2026-01-01' AND name = 'home'", "A: INSERT INTO page VALUES ('2026-01-01', 'Home', 0)"},
		} {
			for _, exact := range []string{"A: DELETE FROM page WHERE hits BETWEEN 1 AND 6", "A: UPDATE page SET hits = hits * 2", "A: UPDATE page SET hits = GREATEST(hits - 1, 0) WHERE name = 'hoME'"} {
				tw.Reset(t)
				steps := append([]string{"A: UPDATE page SET hits = hits + 4 WHERE day = '2026-01-01' AND name = 'home'", "A: BEGIN"}, spell...)
				tw.Play(t, append(steps, exact, rows, exact, rows, "A: COMMIT", rows)...)
			}
		}
	})
}

// TestColumnsSpelledTwice proves that a column which a query spells in two ways has the
// name that plain MySQL gives it, in a derived table as well.
func TestColumnsSpelledTwice(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Board, harness.Counters("post", "likes"))
		tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
			"A: (SELECT q.C, MAX(q.c) FROM (SELECT likes AS c FROM post) AS q WHERE q.C < 100 GROUP BY 1) UNION ALL (SELECT 1, 2)",
			"A: SELECT q.C, COUNT(*) FROM (SELECT GREATEST(3, p.likes) AS c FROM post p) q GROUP BY q.C",
			"A: SELECT Q.C FROM (SELECT likes AS c FROM post WHERE id = 1) Q", "A: WITH q AS (SELECT SUM(likes) AS total FROM post) SELECT Total FROM q")
	})
}

// TestSpelledNumbers proves that a hexadecimal number ends where it ends for the
// server: 0x1e-likes hid the counter, and read the base row.
func TestSpelledNumbers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Board, harness.Counters("post", "likes"))
		tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT 0x1e-likes AS x FROM post WHERE id = 1",
			"A: SELECT 0x1E+likes AS x FROM post WHERE id = 1", "A: SELECT 1e1-likes AS x, 1e-1+likes AS y, 5-likes AS z FROM post WHERE id = 1")
	})
}
