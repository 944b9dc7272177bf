package integration_test

import (
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReservedNames proves that a reserved word behind a point is the name of a
// column, as the servers have it.
func TestReservedNames(t *testing.T) {
	const schema = `
CREATE TABLE msg (id INT PRIMARY KEY, likes INT NOT NULL, ` + "`from` INT NOT NULL DEFAULT 1, `group` INT NOT NULL DEFAULT 3, `limit` INT NOT NULL DEFAULT 8, `where` INT NOT NULL DEFAULT 5" + `);
INSERT INTO msg (id, likes) VALUES (1, 10), (2, 20);
`
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, schema, counters("msg", "likes"))
		tw.play(t, "A: UPDATE msg m SET m.likes = m.likes + 1 WHERE m.id = 1 AND m.group = 3",
			"A: BEGIN", "A: UPDATE msg m SET m.likes = m.likes + 1 WHERE m.limit = 8 AND m.id = 1", "A: COMMIT",
			"A: UPDATE msg m SET m.likes = m.likes + 1 WHERE m.id = 1 AND m.group = 4",
			"A: SELECT m.likes, m.from FROM msg m WHERE m.id = 1 AND m.limit = 8 AND m.group = 3",
			"A: SELECT m.likes + m.from FROM msg m WHERE m.where = 5 ORDER BY m.limit, m.likes",
			"A: UPDATE msg m SET m.likes = 0 WHERE m.id = 1 AND m.limit = 9",
			"A: UPDATE msg m SET m.likes = 0 WHERE m.id = 1 AND m.limit = 8",
			"A: DELETE FROM msg WHERE msg.id = 2 AND msg.limit = 9",
			"A: DELETE FROM msg WHERE msg.group = 3 AND msg.id = 2",
			"A: SELECT * FROM msg")
	})
}
