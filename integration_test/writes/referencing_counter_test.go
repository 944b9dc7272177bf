package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReferencingCounter proves that a counter with a foreign key keeps to the values
// that there are, and follows them: a slot would not.
func TestReferencingCounter(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, `CREATE TABLE level (n INT PRIMARY KEY, name VARCHAR(9));
INSERT INTO level VALUES (0, 'none'), (1, 'one'), (2, 'two'), (3, 'three');
CREATE TABLE player (id INT PRIMARY KEY, level INT NOT NULL DEFAULT 0, FOREIGN KEY (level) REFERENCES level (n) ON UPDATE CASCADE);
INSERT INTO player (id) VALUES (1), (2);
CREATE TABLE note (id INT PRIMARY KEY);
`, harness.Counters("player", "level"))
		up, read := "A: UPDATE player SET level = level + 1 WHERE id = 1", "A: SELECT p.id, p.level, name FROM player p JOIN level ON n = p.level ORDER BY p.id"
		tw.Play(t, up, "A: UPDATE player SET level = level + 5 WHERE id = 1", read,
			"A: UPDATE player SET level = level + 1 WHERE id IN (1, 2)", read,
			"A: INSERT INTO player VALUES (1, 1) ON DUPLICATE KEY UPDATE level = level + 7", read,
			"A: UPDATE level SET n = 30 WHERE n = 2", read, up, read,
			"A: begin", "A: UPDATE player SET level = level + 1 WHERE id = 2", "A: UPDATE player SET level = level + 7 WHERE id = 2", "A: INSERT INTO note VALUES (1)", "A: commit", read,
			"A: DELETE FROM level WHERE n = 1", read)
	})
}
