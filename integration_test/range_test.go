package integration_test

import (
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestBaseRowAtItsEnd proves that a relative write which runs as it is does not
// fail because the base row alone is at the end of its range.
func TestBaseRowAtItsEnd(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(10) NOT NULL DEFAULT '', score TINYINT NOT NULL DEFAULT 0);\nINSERT INTO post VALUES (1, '', 127), (2, '', -128)", counters("post", "score"))
		const rows = "A: SELECT * FROM post ORDER BY id"
		for _, end := range [][2]string{{"A: SELECT 1", "A: SELECT 2"}, {"A: BEGIN", "A: COMMIT"}} {
			tw.play(t, "A: UPDATE post SET score = score - 10 WHERE id = 1", "A: UPDATE post SET score = score + 10 WHERE id = 2", end[0],
				"A: UPDATE post SET score = score + 1, title = 'x' WHERE id = 1", rows,
				"A: UPDATE post SET score = score - 1 WHERE title = '' LIMIT 1", rows,
				"A: INSERT INTO post (id, title, score) VALUES (1, 'y', 0) ON DUPLICATE KEY UPDATE score = score + 5, title = 'y'", rows,
				"A: UPDATE post SET score = score + 100, title = 'z' WHERE id = 1", rows, end[1], rows)
			tw.play(t, "A: UPDATE post SET score = 127, title = '' WHERE id = 1", "A: UPDATE post SET score = -128 WHERE id = 2")
		}
	})
}
