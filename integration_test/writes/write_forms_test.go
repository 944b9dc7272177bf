package writes

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCutValues: where the server cuts a number out of range, it cuts the counter's
// value, and not what the base row holds of it.
func TestCutValues(t *testing.T) {
	const schema = `CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL, likes TINYINT NOT NULL);
CREATE TABLE news (id INT PRIMARY KEY);
INSERT INTO post VALUES (1, 'a', 100), (2, 'b', -100);
INSERT INTO news VALUES (1), (2);
`
	down := []string{"A: UPDATE post SET likes = likes - 50 WHERE id = 1", "A: UPDATE post SET likes = likes + 50 WHERE id = 2"}
	read := "A: SELECT * FROM post ORDER BY id"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, write := range map[string]string{
			"more":   "UPDATE %post SET likes = likes + 60, title = 'x' WHERE id = 1",
			"less":   "UPDATE %post SET likes = likes - 60 WHERE title = 'b'",
			"limit":  "UPDATE %post SET likes = likes + 60 ORDER BY id LIMIT 1",
			"joined": "UPDATE %post JOIN news ON news.id = post.id SET post.likes = post.likes + 20",
			"upsert": "INSERT %INTO post VALUES (1, 'n', 0), (3, 'new', 5) ON DUPLICATE KEY UPDATE likes = likes + 60, title = 'x'",
			"counts": "INSERT %INTO post (id, title, likes) VALUES (1, 'a', 0), (3, 'new', 5) ON DUPLICATE KEY UPDATE likes = likes + 60",
		} {
			t.Run(name, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
				ignoring, plain := "A: "+strings.ReplaceAll(write, "%", "IGNORE "), "A: "+strings.ReplaceAll(write, "%", "")
				tw.Play(t, append(down, ignoring, read, ignoring, read)...)
				tw = harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
				tw.Play(t, append(down, "A: SET sql_mode = ''", plain, read, plain, read)...)
			})
		}
		const less, into = "B: UPDATE page SET likes = likes - 50 WHERE id = 1", "A: INSERT INTO page (id, likes, views) VALUES "
		for name, steps := range map[string][]string{ // that could go to slots
			"two rows":            {less, into + "(1, 60, 0), (3, 60, 0) ON DUPLICATE KEY UPDATE likes = likes + 60"},
			"edited before":       {less, "A: BEGIN", "A: UPDATE page SET title = 'x' WHERE id = 1", into + "(1, 60, 0) ON DUPLICATE KEY UPDATE likes = likes + 60", "A: COMMIT"},
			"too much to insert":  {less, into + "(1, 600, 0) ON DUPLICATE KEY UPDATE likes = likes + 60"},
			"another one is NULL": {"A: UPDATE page SET views = NULL", less, into + "(1, 60, 0) ON DUPLICATE KEY UPDATE likes = likes + 60, views = views + 1"},
			"a new row":           {less, into + "(3, 60, 0) ON DUPLICATE KEY UPDATE likes = likes + 60"},
		} {
			t.Run(name, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, likes TINYINT NOT NULL, views INT, title VARCHAR(9) NOT NULL DEFAULT '');\nINSERT INTO page VALUES (1, 100, 0, '')", harness.Counters("page", "likes", "views"), "sql_mode=%27%27")
				tw.Play(t, append(steps, "A: SELECT * FROM page ORDER BY id", less, "A: SELECT * FROM page ORDER BY id")...)
			})
		}
	})
}

// TestGeneratedKeys: what a key is generated from changes the key.
func TestGeneratedKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		writes := map[string][]string{
			"update": {"A: UPDATE page SET url = 'z' WHERE k = 'A'", "A: UPDATE page SET url = 'x' WHERE url = 'z'"},
			"joined": {"A: UPDATE page JOIN news ON news.url = page.url SET page.url = 'z'"},
			"upsert": {"A: INSERT INTO page (url, hits) VALUES ('a', 1) ON DUPLICATE KEY UPDATE url = 'z'"},
			"counts": {"A: INSERT INTO page (url, hits) VALUES ('a', 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: UPDATE page SET hits = hits + 1 WHERE k = 'A'"},
		}
		keys := map[string]string{"unique": "id INT AUTO_INCREMENT PRIMARY KEY, url VARCHAR(20), v VARCHAR(30) AS (UPPER(url)), k VARCHAR(40) AS (v), UNIQUE (k)"}
		keys["texts"] = strings.Replace(keys["unique"], "UPPER(url)", "CONCAT('', UPPER(url), '')", 1)
		if !harness.MariaDB(srv) { // which has no such keys
			keys["primary"] = "url VARCHAR(20), v VARCHAR(30) AS (UPPER(url)), k VARCHAR(40) AS (v) STORED PRIMARY KEY"
			keys["primary with texts"] = strings.Replace(keys["primary"], "UPPER(url)", "CONCAT('', UPPER(url), '')", 1)
			keys["virtual"] = "url VARCHAR(20), v VARCHAR(30) AS (UPPER(url)), k VARCHAR(40) AS (v) NOT NULL, UNIQUE (k)"
		}
		for kind, key := range keys {
			for name, steps := range writes {
				t.Run(kind+"/"+name, func(t *testing.T) {
					tw := harness.NewTwin(t, srv, "CREATE TABLE page ("+key+`, hits INT);
CREATE TABLE news (url VARCHAR(20));
INSERT INTO news VALUES ('a');
INSERT INTO page (url, hits) VALUES ('a', 1), ('b', 2);
`, harness.Counters("page", "hits"))
					read := "A: SELECT url, hits FROM page ORDER BY url"
					tw.Play(t, append([]string{"B: UPDATE page SET hits = hits + 10 WHERE k IN ('A', 'B')", "A: begin RR", read, "B: UPDATE page SET hits = hits + 10 WHERE k = 'A'"},
						append(steps, read, "A: UPDATE page SET hits = hits + 5 WHERE k = 'Z'", read, "A: commit", read, "A: UPDATE page SET hits = 3 WHERE k = 'X'", read)...)...)
				})
			}
		}
	})
}

// TestRekeyedOverOrphans: a row that gets the key of a row that a cascade has
// deleted has nothing of it, whatever gives it the key.
func TestRekeyedOverOrphans(t *testing.T) {
	const schema = `CREATE TABLE author (id INT PRIMARY KEY);
CREATE TABLE news (id INT PRIMARY KEY);
CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(20) UNIQUE, likes INT NOT NULL, FOREIGN KEY (id) REFERENCES author (id) ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO author VALUES (1), (7);
INSERT INTO news VALUES (1);
INSERT INTO post VALUES (1, 'a', 1), (7, 'b', 5);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, write := range map[string]string{
			"upsert":          "INSERT INTO post VALUES (1, 'x', 0) ON DUPLICATE KEY UPDATE id = 7",
			"upsert computed": "INSERT INTO post VALUES (1, 'x', 0) ON DUPLICATE KEY UPDATE id = post.id + 6",
			"upsert by title": "INSERT INTO post VALUES (8, 'a', 0), (9, 'a', 0) ON DUPLICATE KEY UPDATE id = 7",
			"joined":          "UPDATE post JOIN news ON news.id = post.id SET post.id = 7",
			"cascade":         "UPDATE author SET id = 7 WHERE id = 1",
			"update":          "UPDATE post SET id = 7 WHERE title = 'a'",
		} {
			for _, begin := range []string{"begin RR", "begin RC", "SELECT 1"} {
				t.Run(name+"/"+begin, func(t *testing.T) {
					tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
					steps := []string{"A: UPDATE post SET likes = likes + 100 WHERE id IN (1, 7)", "A: DELETE FROM author WHERE id = 7"}
					if name != "cascade" {
						steps = append(steps, "A: INSERT INTO author VALUES (7), (8), (9)")
					}
					steps = append(steps, "A: "+begin, "A: "+write, "A: SELECT * FROM post", "A: UPDATE post SET likes = likes + 1 WHERE id = 7", "A: SELECT * FROM post")
					if begin != "SELECT 1" {
						steps = append(steps, "A: commit", "A: SELECT * FROM post")
					}
					tw.Play(t, append(steps, "A: UPDATE post SET likes = likes + 1, title = 'z' WHERE likes = 102", "A: SELECT * FROM post")...)
				})
			}
		}
		t.Run("without a key", func(t *testing.T) {
			tw := harness.NewTwin(t, srv, "CREATE TABLE site (visits INT);\nINSERT INTO site VALUES (1);\n", harness.Counters("site", "visits"))
			likeBoth := "UPDATE site SET visits = visits + 100"
			tw.Play(t, "A: "+likeBoth, "A: SELECT * FROM site")
			for _, other := range []*sql.DB{tw.Plain, tw.Direct} {
				harness.Affected(t, other, "DELETE FROM site")
			}
			tw.Play(t, "A: INSERT INTO site VALUES (2)", "A: SELECT * FROM site", "A: "+likeBoth, "A: SELECT * FROM site")
		})
	})
}

// TestUpsertsThatKeepTheirKey: they ask for the id of the row that they meet, or
// for nothing at all, and roll nothing up.
func TestUpsertsThatKeepTheirKey(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, `CREATE TABLE post (id INT AUTO_INCREMENT PRIMARY KEY, title VARCHAR(20) UNIQUE, likes INT NOT NULL);
INSERT INTO post VALUES (1, 'a', 1), (2, 'b', 5);
`, harness.Counters("post", "likes"))
		read := "A: SELECT * FROM post ORDER BY title"
		tw.Play(t, "A: UPDATE post SET likes = likes + 100 WHERE id IN (1, 2)",
			"A: INSERT INTO post (title, likes) VALUES ('b', 1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), likes = likes + 1", read,
			"A: INSERT INTO post (title, likes) VALUES ('b', 1) ON DUPLICATE KEY UPDATE id = id", read,
			"A: INSERT INTO post (title, likes) VALUES ('b', 1) ON DUPLICATE KEY UPDATE title = post.title, post.id = post.id", read,
			"A: INSERT INTO post (title, likes) VALUES ('c', 1) ON DUPLICATE KEY UPDATE id = last_insert_id(post.id), likes = likes + VALUES(likes)", read,
			"A: SELECT LAST_INSERT_ID()", "A: UPDATE post SET id = id, likes = likes + 1 WHERE id = 1", read)
		require.Empty(t, harness.Stats(t, tw.Ours).Exact)
		tw.Play(t, "A: INSERT INTO post (id, title, likes) VALUES (9, 'b', 1) ON DUPLICATE KEY UPDATE id = VALUES(id)", read,
			"A: INSERT INTO post (title, likes) VALUES ('b', 1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id + 1)", read)
	})
}

// TestTriggerThatDecrements: what a trigger takes from an UNSIGNED counter may be in
// its slots.
func TestTriggerThatDecrements(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, body := range []string{
			"UPDATE post SET comments = comments - 1 WHERE id = OLD.post",
			"BEGIN UPDATE post SET comments = comments + 0 WHERE id = OLD.post; UPDATE post SET comments = comments + -1 ORDER BY id LIMIT 1; END",
			"INSERT INTO post VALUES (OLD.post, 0) ON DUPLICATE KEY UPDATE comments = comments - 1",
		} {
			tw := harness.NewTwin(t, srv, `CREATE TABLE post (id INT PRIMARY KEY, comments INT UNSIGNED NOT NULL);
CREATE TABLE comment (id INT PRIMARY KEY, post INT);
CREATE TRIGGER gone AFTER DELETE ON comment FOR EACH ROW `+body+`;
INSERT INTO post VALUES (1, 0);
INSERT INTO comment VALUES (1, 1), (2, 1), (3, 1);
`, harness.Counters("post", "comments"))
			read := "A: SELECT * FROM post"
			tw.Play(t, "A: UPDATE post SET comments = comments + 2 WHERE id = 1", "A: DELETE FROM comment WHERE id = 1", read,
				"A: begin", "A: DELETE FROM comment WHERE id = 2", read, "A: commit", "A: DELETE FROM comment WHERE id = 3", read)
		}
	})
}

// TestConditionsThatWarn: what is a warning in a query is an error in an UPDATE, also
// where the rows of an increment are looked up by a query.
func TestConditionsThatWarn(t *testing.T) {
	const schema = `CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(20), body TEXT, n INT, score DOUBLE, at DATETIME, likes INT NOT NULL);
INSERT INTO post VALUES (1, '5abc', 'b', 0, 1.5, '2020-01-01 00:00:00', 1), (2, '7', 'b', NULL, NULL, NULL, 1), (3, '5abc', 'b', 0, 1, '2020-01-01 00:00:00', 1);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		warning := []string{"title = 5", "title", "title + 0 = 5", "10 / n IS NULL", "n = 'x'", "n <> '0x'", "at > '2019-13-01'", "at < 'never'", "at BETWEEN NOW() AND 'never'", "score > '1x'",
			"(n = 0 OR title = 5) AND title", "NOT title", "title BETWEEN 1 AND 9", "title IN (5, 7)", "5 < title", "n = 5 OR 'a'", "body = 0", "title LIKE 5"}
		quiet := []string{"title = '5abc'", "NOT (title <> '5abc' OR n > 3)", "n < 0.5", "score >= 1", "score < 1.6", "at < NOW()", "at <= '2020-01-01'", "n IN (0, 3)",
			"n NOT IN (1, 2)", "n BETWEEN -1 AND 1", "body = 'b'", "n IS NOT NULL AND at IS NOT NULL", "0 >= n", "NOT n", "title <=> NULL", "n <=> 0"}
		for _, key := range []string{"id = 1", "id IN (1, 3)"} {
			for _, cond := range append(warning, quiet...) {
				increment := "A: UPDATE post SET likes = likes + 1 WHERE " + key + " AND (" + cond + ")"
				tw.Play(t, increment, "A: begin", increment, increment, "A: commit", "A: SELECT * FROM post ORDER BY id")
			}
		}
		tx, err := tw.Ours.Begin()
		require.NoError(t, err)
		before := harness.Stats(t, tw.Ours)
		for _, cond := range quiet {
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1 AND ("+cond+")")
		}
		require.NoError(t, tx.Commit())
		after := harness.Stats(t, tw.Ours)
		require.EqualValues(t, len(quiet)-1, after.Increments-before.Increments, "they are increments all the same, but for one without a row")
	})
}

// TestRowAlias: a column that could be the inserted row's as well is ambiguous.
func TestRowAlias(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, `CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(20), likes INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 'a', 1), (2, 'b', 5);
`, harness.Counters("post", "likes"))
		for _, tail := range []string{"new ON DUPLICATE KEY UPDATE likes = likes + new.likes", "new ON DUPLICATE KEY UPDATE likes = likes + 1", "new ON DUPLICATE KEY UPDATE likes = post.likes + new.likes",
			"new ON DUPLICATE KEY UPDATE post.likes = post.likes + 1", "new ON DUPLICATE KEY UPDATE likes = new.likes + 1", "new ON DUPLICATE KEY UPDATE likes = new.likes + post.likes",
			"post ON DUPLICATE KEY UPDATE likes = post.likes + 1", "post ON DUPLICATE KEY UPDATE likes = likes + 1", "new ON DUPLICATE KEY UPDATE id = id", "new ON DUPLICATE KEY UPDATE id = new.id"} {
			insert := "A: INSERT INTO post (id, likes) VALUES (1, 3) AS " + tail
			tw.Play(t, insert, "A: begin", insert, "A: commit", "A: SELECT * FROM post ORDER BY id")
		}
	})
}

// TestSeveralTriggers: each trigger of a table counts, whatever the others do.
func TestSeveralTriggers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, events := range [][2]string{{"INSERT", "DELETE"}, {"DELETE", "INSERT"}} {
			tw := harness.NewTwin(t, srv, `CREATE TABLE post (id INT PRIMARY KEY, comments INT NOT NULL);
CREATE TABLE comment (id INT PRIMARY KEY, body VARCHAR(20));
CREATE TRIGGER a AFTER `+events[0]+` ON comment FOR EACH ROW UPDATE post SET comments = 50;
CREATE TRIGGER b AFTER `+events[1]+` ON comment FOR EACH ROW UPDATE post SET comments = comments + 1;
INSERT INTO post VALUES (1, 0);
`, harness.Counters("post", "comments"))
			for _, write := range []string{"INSERT INTO comment VALUES (1, 'a')", "UPDATE comment SET body = 'b'", "REPLACE INTO comment VALUES (1, 'c')", "DELETE FROM comment"} {
				tw.Play(t, "A: UPDATE post SET comments = comments + 2 WHERE id = 1", "A: "+write, "A: SELECT * FROM post")
			}
		}
	})
}

// TestFamilies: tables whose foreign keys and triggers lead to other counter tables,
// or to themselves, count as fast as any, and are inserted into and edited as they are.
func TestFamilies(t *testing.T) {
	const schema = `CREATE TABLE user (id INT PRIMARY KEY, name VARCHAR(20) UNIQUE, posts INT UNSIGNED NOT NULL DEFAULT 0);
CREATE TABLE post (id INT PRIMARY KEY, user INT, author VARCHAR(20), likes INT NOT NULL DEFAULT 0,
  FOREIGN KEY (user) REFERENCES user (id) ON DELETE CASCADE, FOREIGN KEY (author) REFERENCES user (name) ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TABLE comment (id INT PRIMARY KEY, post INT, parent INT, likes INT NOT NULL DEFAULT 0,
  FOREIGN KEY (post) REFERENCES post (id) ON DELETE CASCADE, FOREIGN KEY (parent) REFERENCES comment (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TRIGGER wrote AFTER INSERT ON post FOR EACH ROW UPDATE user SET posts = posts + 1 WHERE id = NEW.user;
CREATE TRIGGER removed AFTER DELETE ON post FOR EACH ROW UPDATE user SET posts = posts - 1 WHERE id = OLD.user;
INSERT INTO user VALUES (1, 'ann', 1), (2, 'bob', 2), (3, 'eve', 0);
INSERT INTO post VALUES (1, 1, 'ann', 1), (2, 2, 'bob', 2), (3, 3, 'eve', 2);
INSERT INTO comment VALUES (1, 1, NULL, 1), (2, 1, 1, 2), (3, 2, NULL, 0), (4, 3, NULL, 0);
`
	fast := []string{
		"A: UPDATE user SET posts = posts + 10 WHERE id = 1", "A: UPDATE post SET likes = likes + 10 WHERE id IN (1, 2)", "A: UPDATE comment SET likes = likes + 10 WHERE id IN (1, 2, 3)",
		"A: INSERT INTO user VALUES (4, 'kim', 0)", "A: INSERT INTO post VALUES (4, 4, 'kim', 0)", "A: INSERT INTO comment VALUES (5, 1, 1, 0)",
		"A: INSERT INTO comment VALUES (5, 1, 1, 0) ON DUPLICATE KEY UPDATE likes = likes + 1", "A: UPDATE comment SET post = 2 WHERE id = 5", "A: UPDATE post SET user = 2 WHERE id = 3",
	}
	slow := []string{ // in an order
		"A: UPDATE user SET name = 'x', posts = posts + 1 WHERE id = 2", "A: UPDATE comment SET id = 11 WHERE id = 1", "A: DELETE FROM comment WHERE id = 11", "A: INSERT INTO comment VALUES (2, 1, NULL, 0)",
		"A: DELETE FROM post WHERE id = 1", "A: INSERT INTO post VALUES (1, 1, 'ann', 3)", "A: INSERT INTO comment VALUES (2, 1, NULL, 7)", "A: REPLACE INTO post VALUES (4, 1, 'ann', 3)", "A: DELETE FROM user WHERE id = 2",
	}
	read := []string{"A: SELECT * FROM user ORDER BY id", "A: SELECT * FROM post ORDER BY id", "A: SELECT * FROM comment ORDER BY id"}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("user", "posts")
		config.Tables = append(config.Tables, harness.Counters("post", "likes").Tables[0], harness.Counters("comment", "likes").Tables[0])
		for _, begin := range []string{"SELECT 1", "begin RR", "begin RC"} {
			for _, pending := range [][]string{nil, fast[:3]} {
				tw := harness.NewTwin(t, srv, schema, config)
				all := append(slices.Concat(fast, []string{"A: " + begin}, read[:1]), fast[:3]...)
				for _, step := range slow {
					all = append(append(append(all, pending...), step), read...)
				}
				if begin != "SELECT 1" {
					all = append(all, "A: commit")
				}
				tw.Play(t, append(all, read...)...)
			}
		}
		tw := harness.NewTwin(t, srv, schema, config)
		tw.Play(t, append(fast, "A: begin", fast[0], fast[1], fast[2], "A: commit")...)
		require.Empty(t, harness.Stats(t, tw.Ours).Exact)
	})
}

// TestCutSums: without strict mode a sum that has outgrown its column is cut where it
// is stored.
func TestCutSums(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, write := range []string{"UPDATE post SET likes = GREATEST(likes, 3), cents = cents * 1 WHERE id = 1", "UPDATE post SET likes = likes - 7, cents = cents - 1.5, title = 'b' WHERE id = 1",
			"INSERT INTO post (id) VALUES (1) ON DUPLICATE KEY UPDATE likes = likes - 1, cents = cents - 1, title = 'c'", "SELECT * FROM post WHERE id = 1 FOR UPDATE"} {
			tw := harness.NewTwin(t, srv, `CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(20), likes TINYINT NOT NULL DEFAULT 0, cents DECIMAL(4,2) UNSIGNED DEFAULT 0);
INSERT INTO post VALUES (1, 'a', 100, 99);
`, harness.Counters("post", "likes", "cents"), "sql_mode=''")
			like := "A: UPDATE post SET likes = likes + 20, cents = cents + 0.75 WHERE id = 1"
			tw.Play(t, like, "A: begin", like, "A: "+write, "A: UPDATE post SET likes = likes - 3, cents = cents - 3 WHERE id = 1", "A: SELECT * FROM post", "A: commit", "A: SELECT * FROM post")
		}
	})
}

// TestValuesOutsideInsert: outside an INSERT there is nothing that VALUES(c) could be,
// and not the statement's first argument.
func TestValuesOutsideInsert(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT PRIMARY KEY, n INT);\nCREATE TABLE o (id INT);\nINSERT INTO p VALUES (1, 100), (7, 200);\nINSERT INTO o VALUES (1), (7)", harness.Counters("p", "n"), params)
			for _, text := range []string{"UPDATE p SET n = n + VALUES(n) WHERE id = ?", "UPDATE p JOIN o ON o.id = p.id SET n = n + VALUES(n) WHERE p.id = ?"} {
				_, want := tw.Plain.Exec(text, 7)
				_, got := tw.Ours.Exec(text, 7)
				require.Equal(t, harness.ErrorNumber(want), harness.ErrorNumber(got), text)
				tw.Same(t, "SELECT * FROM p")
			}
			tw.Play(t, "A: UPDATE p SET n = n + VALUES(n) WHERE id = 1", "A: SELECT * FROM p")
		}
	})
}
