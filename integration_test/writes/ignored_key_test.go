package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestIgnoredKey proves that a key which IGNORE cuts takes along what is in its slots: LAST_INSERT_ID() of a number
// below zero is one that the column can't hold.
func TestIgnoredKey(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO page (id) VALUES (1), (-8)", harness.Counters("page", "n"), "interpolateParams=true")
		harness.Affected(t, tw.Plain, "UPDATE page SET n = n + 3")
		harness.Number(t, tw.Ours, "SELECT COUNT(n) FROM page")
		harness.Affected(t, tw.Direct, "INSERT INTO page_slots (id, slot, n) SELECT id, 1, 3 FROM page")
		for _, text := range []string{"UPDATE page SET id = LAST_INSERT_ID(id) WHERE id = 1", "UPDATE IGNORE page SET id = LAST_INSERT_ID(id) WHERE id IN (-8, 7)"} {
			tw.Play(t, "A: "+text, "A: SELECT * FROM page ORDER BY id", "A: SELECT LAST_INSERT_ID()")
		}
	})
}

// TestCutKey proves the same of a key that is cut because the session is not strict.
func TestCutKey(t *testing.T) {
	const schema = `CREATE TABLE page (id INT PRIMARY KEY, slug VARCHAR(9) UNIQUE, title VARCHAR(9), n INT UNSIGNED NOT NULL DEFAULT 0);
INSERT INTO page (id, slug) VALUES (1, 'a'), (-8, 'b');
CREATE TABLE note (id INT PRIMARY KEY);
INSERT INTO note VALUES (-8)`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, text := range []string{
			"INSERT INTO page (id, slug) VALUES (7, 'b') ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id)",
			"INSERT INTO page (id, slug, n) VALUES (7, 'b', 2) ON DUPLICATE KEY UPDATE n = page.n + VALUES(n), id = LAST_INSERT_ID(id)",
			"UPDATE page SET title = 'x', id = LAST_INSERT_ID(id) WHERE slug = 'b'", "UPDATE page SET n = n + 1, id = LAST_INSERT_ID(id) WHERE id = -8",
			"UPDATE page JOIN note ON note.id = page.id SET page.id = LAST_INSERT_ID(page.id)",
		} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("page", "n"), "sql_mode=''")
			harness.Affected(t, tw.Plain, "UPDATE page SET n = n + 3")
			harness.Number(t, tw.Ours, "SELECT COUNT(n) FROM page")
			harness.Affected(t, tw.Direct, "INSERT INTO page_slots (id, slot, n) SELECT id, 1, 3 FROM page")
			tw.Play(t, "A: "+text, "A: SELECT * FROM page ORDER BY id", "A: SELECT LAST_INSERT_ID()")
		}
	})
}
