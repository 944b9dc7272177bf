package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReturning proves that an upsert with RETURNING, which MariaDB has, gives
// the counter and not what the base row holds of it, and so does a subquery there.
func TestReturning(t *testing.T) {
	const schema = `
CREATE TABLE tag (name VARCHAR(10) PRIMARY KEY, uses INT NOT NULL DEFAULT 0, note VARCHAR(10) NOT NULL DEFAULT '');
INSERT INTO tag (name, uses) VALUES ('go', 1), ('sql', 1);
CREATE TABLE book (id INT PRIMARY KEY);
INSERT INTO book VALUES (1), (2);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("tag", "uses"))
		for _, query := range []string{
			"INSERT INTO tag (name, uses) VALUES ('go', 1) ON DUPLICATE KEY UPDATE uses = uses + VALUES(uses) RETURNING uses",
			"INSERT INTO tag (name, uses) VALUES ('new', 1) ON DUPLICATE KEY UPDATE uses = uses + VALUES(uses) RETURNING name, uses + 1 AS more",
			"INSERT INTO tag (name) VALUES ('sql') ON DUPLICATE KEY UPDATE note = 'x' RETURNING *",
			"INSERT INTO tag (name) VALUES ('sql') ON DUPLICATE KEY UPDATE uses = uses + 1 RETURNING name, note",
			"INSERT INTO book (id) VALUES (3) RETURNING (SELECT uses FROM tag WHERE name = 'sql') AS uses",
			"DELETE FROM book WHERE id = 1 RETURNING id, (SELECT MAX(uses) FROM tag)",
			"SELECT * FROM tag ORDER BY name",
		} {
			tw.Play(t, "A: UPDATE tag SET uses = uses + 4 WHERE name IN ('go', 'sql')")
			tw.Same(t, query)
		}
	})
}
