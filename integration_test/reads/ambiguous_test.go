package reads

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNamedTwice proves that a name which the select list has twice is as ambiguous
// as it is on plain MySQL.
func TestNamedTwice(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 2, 1), (2, 3, 5);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		tw.Play(t, "A: SELECT n AS likes, post.LIKES FROM post ORDER BY likes DESC", "A: SELECT likes, likes FROM post ORDER BY likes", "A: SELECT n likes, likes FROM post ORDER BY post.likes",
			"A: SELECT likes x, n x FROM post HAVING x > 1", "A: SELECT likes x, n x FROM post ORDER BY x", "A: SELECT likes x, n x FROM post GROUP BY x",
			"A: SELECT *, likes FROM post ORDER BY likes", "A: SELECT likes, n AS likes FROM post ORDER BY likes + 0", "A: SELECT likes, n AS likes FROM post GROUP BY likes, n ORDER BY 1")
		tw.Play(t, "A: UPDATE post SET likes = likes + 7 WHERE id = 1")
		exact := harness.Stats(t, tw.Ours).Exact
		tw.Play(t, "A: SELECT LIKES, p.likes, id FROM post p ORDER BY likes IS NULL, likes", "A: SELECT DISTINCT likes, post.likes FROM post ORDER BY post.likes DESC", "A: SELECT likes, likes, COUNT(*) FROM post GROUP BY likes ORDER BY -likes",
			"A: SELECT likes, n, likes FROM post HAVING likes > 5", "A: SELECT likes AS likes, post.likes FROM post HAVING post.likes > 5 ORDER BY likes", "A: SELECT likes, likes, RANK() OVER (ORDER BY likes) FROM post ORDER BY likes + 0",
			"A: SET TRANSACTION READ ONLY", "A: SELECT likes, likes FROM post WHERE id = 1 ORDER BY likes LOCK IN SHARE MODE")
		require.Equal(t, exact, harness.Stats(t, tw.Ours).Exact, "one column")
	})
}

// TestGroupedByAlias proves that GROUP BY means the column where an alias has its name.
func TestGroupedByAlias(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(10) NOT NULL, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 'x', 1), (2, 'x', 5), (3, 'y', 5);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, mode := range []string{"", "ONLY_FULL_GROUP_BY"} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"), "sql_mode='"+mode+"'")
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT title AS likes, COUNT(*) FROM post GROUP BY likes ORDER BY 1, 2",
				"A: SELECT id AS likes FROM post GROUP BY likes ORDER BY 1", "A: SELECT title AS likes, COUNT(*) FROM post GROUP BY post.likes, title ORDER BY 1, 2",
				"A: SELECT id % 2 AS likes, COUNT(*) FROM post GROUP BY likes, id ORDER BY 1, 2")
		}
	})
}

// TestNamedByWildcard proves that an alias of a counter's name beside the wildcard that
// has the counter is found where plain MySQL finds it: it means the column in ORDER BY
// and the alias in HAVING, or neither.
func TestNamedByWildcard(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, n INT NULL, likes INT NULL DEFAULT 0);
CREATE TABLE tag (post_id INT, name VARCHAR(9), likes INT NOT NULL DEFAULT 0, PRIMARY KEY (post_id, name));
CREATE TABLE author (id INT PRIMARY KEY, likes INT NOT NULL);
INSERT INTO post VALUES (1, 2, 1), (2, 3, 5), (3, NULL, NULL);
INSERT INTO tag VALUES (1, 'x', 4), (2, 'y', 3);
INSERT INTO author VALUES (1, 9), (2, 4);
`
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "post", Counters: []string{"likes"}}, {Table: "tag", Counters: []string{"likes"}}}}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, config)
		for _, query := range []string{
			"SELECT *, -likes AS likes FROM post ORDER BY likes",
			"SELECT p.*, -id likes FROM post p ORDER BY likes",
			"SELECT DISTINCT p.*, -p.likes AS likes FROM post p ORDER BY likes",
			"SELECT *, IFNULL(likes, 5) AS likes FROM post HAVING likes > 3 ORDER BY id",
			"SELECT *, IFNULL(likes, 99) AS likes FROM post ORDER BY likes DESC LIMIT 1",
			"SELECT *, n AS likes FROM post ORDER BY likes",
			"SELECT n AS likes, post.* FROM post HAVING likes > 1",
			"SELECT * FROM (post p JOIN tag t ON t.post_id = p.id) ORDER BY likes",
			"SELECT p.*, a.likes FROM post p JOIN author a USING (id) ORDER BY likes",
			"SELECT a.*, -p.likes AS likes FROM post p JOIN author a USING (id) ORDER BY likes",
			"SELECT a.id, p.likes FROM author a JOIN post p USING (id) ORDER BY likes",
		} {
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: "+query)
		}
		exact := harness.Stats(t, tw.Ours).Exact
		tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT a.*, p.likes AS l FROM author a JOIN post p USING (id) ORDER BY l",
			"A: SELECT p.*, a.id AS author FROM post p JOIN author a USING (id) ORDER BY likes, p.id", "A: SELECT *, -likes AS l FROM post HAVING l < 3 ORDER BY likes")
		require.Equal(t, exact, harness.Stats(t, tw.Ours).Exact)
	})
}

// TestOrderedByAlias proves that a window's PARTITION BY and ORDER BY mean the column
// where an alias has its name, and ORDER BY does where it says the table.
func TestOrderedByAlias(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL, likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 1, 1), (2, 1, 5), (3, 2, 5);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		for _, query := range []string{
			"SELECT id, -likes AS likes, RANK() OVER (ORDER BY likes DESC) r FROM post ORDER BY id",
			"SELECT id, n AS likes, COUNT(*) OVER (PARTITION BY likes) c FROM post ORDER BY id",
			"SELECT id, n AS likes, SUM(id) OVER w s FROM post WINDOW w AS (PARTITION BY (likes) ORDER BY id) ORDER BY id",
			"SELECT id, n AS likes, RANK() OVER (ORDER BY post.likes DESC, id) r FROM post ORDER BY id",
			"SELECT id, -likes AS likes, RANK() OVER (ORDER BY likes + 0) r FROM post ORDER BY id",
			"SELECT likes, n AS id FROM post ORDER BY post.id DESC, likes",
			"SELECT likes, n AS id, ROW_NUMBER() OVER (ORDER BY post.id DESC, likes) r FROM post ORDER BY likes, r",
			"SELECT likes, (n) AS Id FROM post p ORDER BY P.ID DESC, likes",
			"SELECT COUNT(likes), n AS id FROM post GROUP BY n ORDER BY post.id",
			"SELECT likes, n AS id FROM post HAVING post.id > 1 ORDER BY likes",
			"SELECT likes, n AS id FROM post ORDER BY post.id DESC LIMIT 1 FOR UPDATE",
		} {
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: "+query)
		}
	})
}

// TestSeveralMistakes proves that of several mistakes in a query the one is told that
// the server tells: MariaDB has another for one that is prepared.
func TestSeveralMistakes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		const query = "SELECT 1 FROM note q WHERE (q.id, q.id) IN (((SELECT p.views, VIEWS FROM post p) UNION ALL (SELECT 1, 2)) UNION ((SELECT 3, 4 FROM note WHERE q.id > 0) UNION (SELECT id, 3 FROM post WHERE q.id = 1)))"
		tw.Play(t, "A: "+query, "A: BEGIN", "A: "+query, "A: SELECT id, likes FROM post ORDER BY id", "A: COMMIT")
	})
}

// TestNotSupported proves that a query which MariaDB does not support is not prepared unless the
// application does so: that has crashed the server.
func TestNotSupported(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		const query = "SELECT q.id FROM (SELECT GREATEST((SELECT MIN(likes) FROM post), id) AS id FROM (SELECT id FROM post GROUP BY 1) p) q LEFT JOIN post o ON (q.id, o.views) IN (SELECT views, id FROM post)"
		for _, sent := range tw.Sent.During(func() {
			tw.Play(t, "A: "+query, "A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: "+query, "A: COMMIT")
		}) {
			require.NotContains(t, sent.Text, "PREPARE")
		}
	})
}
