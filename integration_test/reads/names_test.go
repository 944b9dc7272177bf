package reads

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReservedNames proves that a reserved word behind a point is the name of a
// column, as the servers have it.
func TestReservedNames(t *testing.T) {
	const schema = `
CREATE TABLE msg (id INT PRIMARY KEY, likes INT NOT NULL, ` + "`from` INT NOT NULL DEFAULT 1, `group` INT NOT NULL DEFAULT 3, `limit` INT NOT NULL DEFAULT 8, `where` INT NOT NULL DEFAULT 5" + `);
INSERT INTO msg (id, likes) VALUES (1, 10), (2, 20);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("msg", "likes"))
		tw.Play(t, "A: UPDATE msg m SET m.likes = m.likes + 1 WHERE m.id = 1 AND m.group = 3",
			"A: BEGIN", "A: UPDATE msg m SET m.likes = m.likes + 1 WHERE m.limit = 8 AND m.id = 1", "A: COMMIT",
			"A: UPDATE msg m SET m.likes = m.likes + 1 WHERE m.id = 1 AND m.group = 4",
			"A: SELECT m.likes, m.from FROM msg m WHERE m.id = 1 AND m.limit = 8 AND m.group = 3",
			"A: SELECT m.likes + m.from FROM msg m WHERE m.where = 5 ORDER BY m.limit, m.likes",
			"A: UPDATE msg m SET m.likes = 0 WHERE m.id = 1 AND m.limit = 9",
			"A: UPDATE msg m SET m.likes = 0 WHERE m.id = 1 AND m.limit = 8",
			"A: ALTER TABLE msg ADD `returning` INT NOT NULL DEFAULT 6", "A: UPDATE msg SET likes = likes + 1 WHERE `returning` = 6 AND id = 1",
			"A: DELETE FROM msg WHERE msg.id = 2 AND msg.limit = 9",
			"A: DELETE FROM msg WHERE msg.group = 3 AND msg.id = 2",
			"A: SELECT * FROM msg")
		if !harness.MariaDB(srv) { // to which it is a reserved word
			tw.Play(t, "A: UPDATE msg SET likes = likes + 1 WHERE returning = 6 AND id = 1", "A: UPDATE msg SET likes = GREATEST(likes, 30) WHERE id = 1 AND returning = 7", "A: SELECT * FROM msg")
		}
	})
}

// TestWrongNames proves that a statement with a wrong name fails though what
// would go to the slots has no such name.
func TestWrongNames(t *testing.T) {
	const schema = `
CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL);
INSERT INTO page VALUES (1, 1), (2, 2);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("page", "hits"))
		tw.Play(t, "A: UPDATE page p SET page.hits = p.hits + 1 WHERE p.id = 1", "A: UPDATE page SET other.hits = hits + 1 WHERE id = 1",
			"A: UPDATE page p SET P.hits = P.hits + 1 WHERE p.id = 1", "A: UPDATE page p SET hits = P.hits + 1 WHERE id = 1", "A: UPDATE page p SET hits = hits + 1 WHERE P.id = 1",
			"A: SELECT P.hits FROM page p WHERE id = 1", "A: SELECT P.hits, id FROM page p ORDER BY P.hits LIMIT 1", "A: SELECT PAGE.hits FROM page",
			"A: INSERT INTO page (id, hits, id) VALUES (1, 1, 2) ON DUPLICATE KEY UPDATE hits = hits + 1",
			"A: INSERT INTO page (id, hits) VALUES (1, 1) ON DUPLICATE KEY UPDATE other.hits = hits + 1", "A: INSERT INTO page (id, hits) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = PAGE.hits + 1",
			"A: INSERT INTO page (id, hits) VALUES (1, 1) AS n ON DUPLICATE KEY UPDATE hits = page.hits + N.hits",
			"A: UPDATE page USE INDEX (nosuch) SET hits = hits + 1 WHERE id = 1", "A: UPDATE page p FORCE INDEX (PRIMARY) SET hits = hits + 1 WHERE id = 1",
			"A: UPDATE page SET nosuch.page.hits = hits + 1 WHERE id = 1", "A: UPDATE page SET hits = nosuch.page.hits + 1 WHERE id = 1", "A: UPDATE page SET hits = hits + 1 WHERE nosuch.page.id = 1",
			"A: INSERT INTO page (nosuch.page.id, hits) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: INSERT INTO page (other.id, hits) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = hits + 1",
			"A: INSERT INTO page (id, hits) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = hits + VALUES(other.hits)",
			"A: SELECT * FROM page")
	})
}

// TestNamesOfSubqueries proves that a subquery of a select list gives its column the
// name that the user's text gives it, however deep it stands.
func TestNamesOfSubqueries(t *testing.T) {
	const schema = `
CREATE TABLE post (likes INT NOT NULL DEFAULT 0, id INT PRIMARY KEY);
CREATE TABLE other (id INT PRIMARY KEY, post_id INT NOT NULL);
INSERT INTO post VALUES (5, 1), (3, 2);
INSERT INTO other VALUES (1, 1), (2, 2);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		for _, query := range []string{
			"WITH c AS (SELECT (SELECT likes FROM post WHERE id = 1)) SELECT * FROM c",
			"WITH c AS (SELECT 1 FROM other) SELECT (SELECT likes FROM post WHERE id = 1) FROM c LIMIT 1",
			"(SELECT (SELECT MAX(likes) FROM post))",
			"SELECT * FROM (SELECT o.id, (SELECT likes FROM post p WHERE p.id = o.post_id) FROM other o) q ORDER BY id",
			"SELECT * FROM (SELECT EXISTS (SELECT likes FROM post WHERE likes > 6)) q",
			"SELECT EXTRACT(YEAR FROM (SELECT MAX(likes) FROM post) + 20240100) FROM other LIMIT 1",
		} {
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: "+query)
		}
	})
}

// TestNamesByArguments proves that a column named by the text of its subquery has the
// arguments in its name that were written into it, and not those of an earlier call.
func TestNamesByArguments(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (likes INT NOT NULL DEFAULT 0, id INT PRIMARY KEY);\nINSERT INTO post VALUES (5, 1)", harness.Counters("post", "likes"), "interpolateParams=true")
		for _, n := range []int{1, 5, 7} {
			tw.Same(t, "SELECT EXISTS (SELECT 1 FROM post WHERE likes > ?), (SELECT MAX(likes) FROM post WHERE id > ?) AS most", n, n)
			tw.Same(t, "SELECT 1 FROM post WHERE likes > ? UNION SELECT (SELECT likes FROM post WHERE id = ?)", n, 1)
			stmt := "SELECT EXISTS (SELECT 1 FROM post WHERE likes > ?)"
			plain, err := tw.Plain.Prepare(stmt)
			require.NoError(t, err)
			defer plain.Close()
			ours, err := tw.Ours.Prepare(stmt)
			require.NoError(t, err)
			defer ours.Close()
			require.Equal(t, harness.Queried(t.Context(), harness.StmtQuerier{Stmt: plain}, stmt, n), harness.Queried(t.Context(), harness.StmtQuerier{Stmt: ours}, stmt, n))
		}
	})
}

// TestNamesWithoutSpaces proves that nothing has to stand between SELECT and the first
// column: sums are written there.
func TestNamesWithoutSpaces(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (likes INT NOT NULL DEFAULT 0, id INT PRIMARY KEY);\nINSERT INTO post VALUES (5, 1)", harness.Counters("post", "likes"))
		for _, query := range []string{"SELECT*FROM post WHERE id=1", "SELECT`likes`FROM`post`WHERE`id`=1"} {
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: "+query)
		}
		require.Empty(t, harness.Stats(t, tw.Ours).Exact)
	})
}

// TestNamesOfEqualColumns proves that a counter that stands twice among distinct columns
// keeps both names: MariaDB calls both by one, where a query computes them.
func TestNamesOfEqualColumns(t *testing.T) {
	const schema = "CREATE TABLE post (likes DECIMAL(40,25) NOT NULL, n INT, KEY by_counter (likes), KEY by_n (n));\n"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		tw.Play(t, "A: SELECT DISTINCT post.likes, likes AS v FROM post WHERE (likes <=> 0.5) AND NOT (post.likes > 0.5)",
			"A: INSERT INTO post VALUES (0.5, 1)", "A: SELECT DISTINCT post.likes, likes AS v FROM post WHERE (likes <=> 0.5) AND NOT (post.likes > 0.5)")
	})
}

// TestOwnNames proves that an alias by which the driver calls the slots table in its queries hides
// nothing there.
func TestOwnNames(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Play(t, "A: SELECT countermysql_slots.likes FROM post countermysql_slots WHERE countermysql_slots.id = 1",
			"A: SELECT countermysql_slots.id, countermysql_slots.likes FROM post AS countermysql_slots ORDER BY countermysql_slots.likes DESC LIMIT 2")
	})
}
