package reads

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestActingFunctions proves that a query is asked for its column types without what
// its derived tables do: they wait for locks, and write, once. And that what takes a sequence's
// next number is sent once, however it is spelled.
func TestActingFunctions(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post VALUES (1, 5), (2, 6);\nCREATE TABLE log (n INT NOT NULL)", harness.Counters("post", "likes"))
		for _, db := range []harness.Execer{tw.Plain, tw.Direct} {
			_, err := db.ExecContext(t.Context(), "CREATE FUNCTION note(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO log VALUES (x); RETURN x; END")
			require.NoError(t, err)
		}
		start := time.Now()
		tw.Play(t, "A: SELECT * FROM (SELECT GET_LOCK(CONCAT(DATABASE(), 'x'), 9) AS got) q, (SELECT likes + 1 AS n FROM post) p ORDER BY n", "A: SELECT RELEASE_LOCK(CONCAT(DATABASE(), 'x')) AS n",
			"A: WITH q AS (SELECT GET_LOCK(CONCAT(DATABASE(), 'x'), 9) AS got) SELECT q.got, likes + 1 AS n FROM q, post ORDER BY id", "A: SELECT RELEASE_LOCK(CONCAT(DATABASE(), 'x')) AS n")
		require.Less(t, time.Since(start), 4*time.Second)
		tw.Play(t, "A: SELECT q.n, likes + 1 AS more FROM (SELECT note(7) AS n) q, post ORDER BY id", "A: SELECT q.n, likes + 1 AS more FROM (SELECT MAX(note(id)) AS n FROM post WHERE id = 1) q, post ORDER BY id", "A: SELECT COUNT(*) FROM log")
		const waits = "SELECT likes FROM (SELECT SLEEP(0) AS n) q, post WHERE id = 1"
		require.Equal(t, "likes INT, [5]", harness.Queried(t.Context(), tw.Plain, waits))
		require.Equal(t, "likes BIGINT, [5]", harness.Queried(t.Context(), tw.Ours, waits))
		tw.Play(t, "A: SELECT a.likes, (SELECT likes FROM post WHERE id = 2) AS two FROM post a ORDER BY id")
		if !harness.MariaDB(srv) { // which has no sequences
			return
		}
		tw = harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post VALUES (1, 5);\nCREATE SEQUENCE s", harness.Counters("post", "likes"), "sql_mode=%27ORACLE%27")
		for range 2 { // without slots, and with some
			tw.Play(t, "A: SELECT s.NEXTVAL, likes FROM post WHERE id = 1", "A: SELECT likes, NEXT VALUE FOR s FROM post", "A: SELECT NEXTVAL(s), likes FROM post WHERE id = 1",
				"A: begin RR", "A: SELECT s.nextval, likes FROM post WHERE id = 1 FOR UPDATE", "A: commit", "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
		}
	})
}

// TestTypesBesideLocks proves that a query whose subquery locks rows is asked for its
// column types and names without those locks: its own transaction may hold them.
func TestTypesBesideLocks(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		start := time.Now()
		tw.Play(t, "A: BEGIN", "A: SELECT (SELECT likes FROM post WHERE id = 1 FOR UPDATE)", "A: SELECT (SELECT likes FROM post WHERE id = 2  LOCK IN SHARE MODE) + 1, title FROM post WHERE id = 1 FOR UPDATE",
			"A: SELECT q.*, (SELECT MAX(likes) FROM post FOR UPDATE) FROM (SELECT likes, views FROM post WHERE id = 1 FOR UPDATE) q", "A: ROLLBACK")
		tw.Play(t, "B: BEGIN", "B: UPDATE post SET title = 'x' WHERE id = 1", "A: SELECT (SELECT likes FROM post WHERE id = 2 FOR UPDATE)", "B: ROLLBACK")
		require.Less(t, time.Since(start), 4*time.Second)
	})
}
