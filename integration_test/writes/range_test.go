package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestBaseRowAtItsEnd proves that a relative write which runs as it is does not
// fail because the base row alone is at the end of its range.
func TestBaseRowAtItsEnd(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, title VARCHAR(10) NOT NULL DEFAULT '', score TINYINT NOT NULL DEFAULT 0);\nINSERT INTO post VALUES (1, '', 127), (2, '', -128)", harness.Counters("post", "score"))
		const rows = "A: SELECT * FROM post ORDER BY id"
		for _, end := range [][2]string{{"A: SELECT 1", "A: SELECT 2"}, {"A: BEGIN", "A: COMMIT"}} {
			tw.Play(t, "A: UPDATE post SET score = score - 10 WHERE id = 1", "A: UPDATE post SET score = score + 10 WHERE id = 2", end[0],
				"A: UPDATE post SET score = score + 1, title = 'x' WHERE id = 1", rows,
				"A: UPDATE post SET score = score - 1 WHERE title = '' LIMIT 1", rows,
				"A: INSERT INTO post (id, title, score) VALUES (1, 'y', 0) ON DUPLICATE KEY UPDATE score = score + 5, title = 'y'", rows,
				"A: UPDATE post SET score = score + 100, title = 'z' WHERE id = 1", rows, end[1], rows)
			tw.Play(t, "A: UPDATE post SET score = 127, title = '' WHERE id = 1", "A: UPDATE post SET score = -128 WHERE id = 2")
		}
	})
}

// TestBeyondRange proves that an increment fails that no number of the column can
// take. In a slot it would stand for ever, and so would all that came after it.
func TestBeyondRange(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, score TINYINT NOT NULL DEFAULT 0, likes INT UNSIGNED NOT NULL DEFAULT 0, price DECIMAL(4,2) NOT NULL DEFAULT 0);\nINSERT INTO post (id, score) VALUES (1, -128), (2, 127)",
			harness.Counters("post", "score", "likes", "price"))
		for _, end := range [][2]string{{"A: SELECT 1", "A: SELECT 2"}, {"A: begin", "A: commit"}} {
			tw.Play(t, end[0], "A: UPDATE post SET score = score + 255 WHERE id = 1", "A: UPDATE post SET score = score + 256 WHERE id = 1", "A: UPDATE post SET score = score - 256 WHERE id = 2",
				"A: UPDATE post SET likes = likes + 4294967296 WHERE id = 1", "A: UPDATE post SET price = price + 200 WHERE id = 1", "A: UPDATE post SET price = price + 99.99 WHERE id = 1",
				"A: INSERT INTO post (id, likes) VALUES (1, 5000000000) ON DUPLICATE KEY UPDATE likes = likes + 1",
				end[1], "A: SELECT * FROM post", "A: UPDATE post SET score = -128, price = 0 WHERE id = 1")
		}
	})
}
