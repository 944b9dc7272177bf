package reads

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestInto proves that SELECT … INTO variables reads as other queries do: it writes
// nothing, and so works where nothing may be written.
func TestInto(t *testing.T) {
	reads := []string{
		"A: SELECT likes INTO @v FROM post WHERE id = 1", "A: SELECT @v",
		"A: SELECT id, likes FROM post WHERE id = 2 INTO @id, @`v`;", "A: SELECT @id, @v",
		"A: SELECT title, likes INTO @'t', @v FROM post ORDER BY likes DESC LIMIT 1", "A: SELECT @t, @v",
		"A: SELECT SUM(likes), MAX(views) FROM post INTO @s, @m", "A: SELECT @s, @m",
		"A: SELECT likes INTO @v FROM post", "A: SELECT @v", "A: SELECT likes INTO @v FROM post WHERE id = 99", "A: SELECT @v", "A: SELECT likes INTO @v, @w FROM post WHERE id = 1",
		"A: (SELECT likes FROM post WHERE id = 1) UNION (SELECT likes FROM post WHERE id = 1) INTO @v", "A: SELECT @v",
		"A: SELECT likes INTO @v FROM post WHERE id = 2 FOR UPDATE", "A: SELECT @v",
		"A: SELECT * FROM page WHERE day = '2026-01-02' INTO @d, @n, @h", "A: SELECT @d, @n, @h",
		"A: WITH w AS (SELECT SUM(likes) AS s FROM post) SELECT s FROM w INTO @v", "A: SELECT @v",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params)
			for _, begin := range []string{"A: SELECT 1", "A: START TRANSACTION READ ONLY", "A: BEGIN"} {
				tw.Reset(t)
				tw.Play(t, slices.Concat([]string{begin}, reads, []string{"A: COMMIT"})...)
				require.EqualValues(t, 3, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"), "they were rolled up")
			}
			tw.Play(t, slices.Concat([]string{"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"}, reads, []string{"A: COMMIT"})...)
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				conn := harness.Session(t, db)
				_, err := conn.ExecContext(t.Context(), "SELECT likes INTO @v FROM post WHERE id = ?", 2)
				require.NoError(t, err)
				require.EqualValues(t, 9, harness.Number(t, conn, "SELECT @v"))
				stmt, err := conn.PrepareContext(t.Context(), "SELECT likes INTO @v FROM post WHERE id = ?")
				require.NoError(t, err)
				_, err = stmt.Exec(1)
				require.NoError(t, err)
				require.EqualValues(t, 11, harness.Number(t, conn, "SELECT @v"))
				require.NoError(t, stmt.Close())
			}
		}
	})
}

// TestAcceptedReadOnly pins that what reads counters the exact way fails where nothing
// may be written, while there are slots.
func TestAcceptedReadOnly(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		rollup := ""
		if harness.MariaDB(srv) {
			rollup = " ⇒ [1 10][<nil> 10] ⇒ error 1792"
		}
		tw.Accepted(t, "A: START TRANSACTION READ ONLY", "A: SELECT likes FROM post WHERE id = 1",
			"A: SET @v = (SELECT likes FROM post WHERE id = 1) ⇒ affected 0 ⇒ error 1792",
			"A: SELECT likes, DEFAULT(likes) FROM post WHERE id = 1 ⇒ [10 0] ⇒ error 1792",
			"A: WITH post AS (SELECT 7 AS likes) SELECT likes FROM post ⇒ [7] ⇒ error 1792",
			"A: SELECT id, SUM(likes) FROM post WHERE id = 1 GROUP BY id WITH ROLLUP"+rollup,
			"A: SELECT likes FROM post WHERE id = 1", "A: COMMIT", harness.RollUpStep,
			"A: START TRANSACTION READ ONLY", "A: SET @v = (SELECT likes FROM post WHERE id = 1)", "A: SELECT likes, DEFAULT(likes) FROM post WHERE id = 1", "A: COMMIT")
	})
}

// TestNamesInStrings proves that a table's name in a string of SET or DO concerns no
// table: nothing is locked for it.
func TestNamesInStrings(t *testing.T) {
	const schema = `
CREATE TABLE user (id INT PRIMARY KEY, name VARCHAR(9), logins INT NOT NULL DEFAULT 0);
CREATE VIEW seen AS SELECT * FROM user;
INSERT INTO user VALUES (1, 'ann', 5);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("user", "logins"), "innodb_lock_wait_timeout=1")
		tw.Play(t, "A: UPDATE user SET logins = logins + 1 WHERE id = 1", "A: BEGIN", "A: UPDATE user SET name = 'x' WHERE id = 1",
			"B: SET @who = 'user-1', @what = \"has seen it\"", "B: DO GET_LOCK('user:1', 1), RELEASE_LOCK('user:1')", "B: SELECT @who", "A: COMMIT",
			"B: SET @n = (SELECT logins FROM user WHERE id = 1)", "B: SELECT @n", "A: UPDATE user SET logins = logins + 1 WHERE id = 1",
			"B: SET sql_mode = 'ANSI_QUOTES'", `B: SET @n = (SELECT "logins" FROM "user" WHERE id = 1)`, "B: SELECT @n")
	})
}

// TestReadsFireNoTrigger proves that SET, DO and the arguments of CALL, which only read
// the tables that they name, lock nothing for these tables' triggers and foreign keys,
// nor for those of another database's table of the same name. What a routine runs does.
func TestReadsFireNoTrigger(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		tw.Play(t, "A: CREATE TRIGGER counted AFTER INSERT ON note FOR EACH ROW UPDATE post SET likes = likes * 2 WHERE id = 1",
			"A: CREATE PROCEDURE tell(n INT) SELECT n", "A: CREATE PROCEDURE adds(n INT) INSERT INTO note VALUES (n, '')",
			"A: CREATE PROCEDURE runs(q TEXT) BEGIN SET @q = q; PREPARE s FROM @q; EXECUTE s; END")
		tw.Reset(t)
		tw.Play(t, "A: BEGIN", "A: UPDATE post SET title = 'x' WHERE id = 1", "B: SET @n = (SELECT COUNT(*) FROM note), @m = (SELECT COUNT(*) FROM author)",
			"B: DO (SELECT COUNT(*) FROM note)", "B: CALL tell((SELECT COUNT(*) FROM note))", "B: SELECT @n, @m", "A: COMMIT",
			"B: CALL adds(5)", "B: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 7 WHERE id = 1",
			"B: CALL runs('INSERT INTO note VALUES (6, \"\")')", "B: SELECT likes FROM post WHERE id = 1")
	})
}
