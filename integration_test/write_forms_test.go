package integration_test

import (
	"strings"
	"testing"

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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, write := range map[string]string{
			"more":   "UPDATE %post SET likes = likes + 60, title = 'x' WHERE id = 1",
			"less":   "UPDATE %post SET likes = likes - 60 WHERE title = 'b'",
			"limit":  "UPDATE %post SET likes = likes + 60 ORDER BY id LIMIT 1",
			"joined": "UPDATE %post JOIN news ON news.id = post.id SET post.likes = post.likes + 20",
			"upsert": "INSERT %INTO post VALUES (1, 'n', 0), (3, 'new', 5) ON DUPLICATE KEY UPDATE likes = likes + 60, title = 'x'",
		} {
			t.Run(name, func(t *testing.T) {
				tw := newTwin(t, srv, schema, counters("post", "likes"))
				ignoring, plain := "A: "+strings.ReplaceAll(write, "%", "IGNORE "), "A: "+strings.ReplaceAll(write, "%", "")
				tw.play(t, append(down, ignoring, read, ignoring, read)...)
				tw = newTwin(t, srv, schema, counters("post", "likes"))
				tw.play(t, append(down, "A: SET sql_mode = ''", plain, read, plain, read)...)
			})
		}
	})
}

// TestGeneratedKeys: what a key is generated from changes the key.
func TestGeneratedKeys(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		writes := map[string][]string{
			"update": {"A: UPDATE page SET url = 'z' WHERE k = 'A'", "A: UPDATE page SET url = 'x' WHERE url = 'z'"},
			"joined": {"A: UPDATE page JOIN news ON news.url = page.url SET page.url = 'z'"},
			"upsert": {"A: INSERT INTO page (url, hits) VALUES ('a', 1) ON DUPLICATE KEY UPDATE url = 'z'"},
			"counts": {"A: INSERT INTO page (url, hits) VALUES ('a', 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: UPDATE page SET hits = hits + 1 WHERE k = 'A'"},
		}
		keys := map[string]string{"unique": "id INT AUTO_INCREMENT PRIMARY KEY, url VARCHAR(20), v VARCHAR(30) AS (UPPER(url)), k VARCHAR(40) AS (v), UNIQUE (k)"}
		if !mariaDB(srv) { // which has no such keys
			keys["primary"] = "url VARCHAR(20), v VARCHAR(30) AS (UPPER(url)), k VARCHAR(40) AS (v) STORED PRIMARY KEY"
			keys["virtual"] = "url VARCHAR(20), v VARCHAR(30) AS (UPPER(url)), k VARCHAR(40) AS (v) NOT NULL, UNIQUE (k)"
		}
		for kind, key := range keys {
			for name, steps := range writes {
				t.Run(kind+"/"+name, func(t *testing.T) {
					tw := newTwin(t, srv, "CREATE TABLE page ("+key+`, hits INT);
CREATE TABLE news (url VARCHAR(20));
INSERT INTO news VALUES ('a');
INSERT INTO page (url, hits) VALUES ('a', 1), ('b', 2);
`, counters("page", "hits"))
					read := "A: SELECT url, hits FROM page ORDER BY url"
					tw.play(t, append([]string{"B: UPDATE page SET hits = hits + 10 WHERE k IN ('A', 'B')", "A: begin RR", read, "B: UPDATE page SET hits = hits + 10 WHERE k = 'A'"},
						append(steps, read, "A: UPDATE page SET hits = hits + 5 WHERE k = 'Z'", read, "A: commit", read, "A: UPDATE page SET hits = 3 WHERE k = 'X'", read)...)...)
				})
			}
		}
	})
}
