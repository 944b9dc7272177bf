package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestTemporaryTableTakesTheName proves that a temporary table with a counter
// table's name is what its session sees, however it got the name, and that
// nothing is lost of what came before.
func TestTemporaryTableTakesTheName(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, title VARCHAR(9) NOT NULL DEFAULT '', KEY (likes));
INSERT INTO post (id, likes) VALUES (1, 50), (2, 40), (3, 30);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		other := harness.NewDatabase(t, srv)
		for name, steps := range map[string][]string{
			"increments before it": {"A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: CREATE TEMPORARY TABLE post (id INT PRIMARY KEY, likes INT)", "A: COMMIT",
				"B: SELECT id, likes FROM post ORDER BY id"},
			"made of itself": {"A: begin RR", "A: SELECT id FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", "A: CREATE TEMPORARY TABLE post SELECT id, likes FROM post",
				"A: SELECT * FROM post ORDER BY id", "A: commit", "B: SELECT id, likes FROM post ORDER BY id", "A: SELECT id, likes FROM post ORDER BY id"},
			"renamed": {"A: CREATE TEMPORARY TABLE tt (id INT PRIMARY KEY, likes INT NOT NULL)", "A: INSERT INTO tt VALUES (1, 1), (7, 7)", "A: ALTER TABLE tt RENAME TO post", "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
				"B: SELECT id, likes FROM post ORDER BY id", "A: SELECT id, likes FROM post ORDER BY id", "A: DELETE FROM post", "A: DROP TEMPORARY TABLE post", "B: SELECT id, likes FROM post ORDER BY id", "A: SELECT id, likes FROM post ORDER BY id"},
			"column and index renamed": {"A: CREATE TEMPORARY TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, a INT, KEY k (a))", "A: INSERT INTO post VALUES (1, 7, 7)", "A: ALTER TABLE post RENAME COLUMN a TO b", "A: ALTER TABLE post RENAME INDEX k TO l",
				"A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT * FROM post", "A: DROP TEMPORARY TABLE post", "B: SELECT id, likes FROM post ORDER BY id", "A: SELECT id, likes FROM post ORDER BY id"},
			"table of another database dropped": {"A: CREATE TEMPORARY TABLE post (id INT PRIMARY KEY, likes INT)", "A: INSERT INTO post VALUES (7, 7)", "A: CREATE TABLE IF NOT EXISTS " + other + ".post (n INT)", "A: DROP TABLE " + other + ".post",
				"A: UPDATE post SET likes = likes + 1 WHERE id = 7", "A: SELECT id, likes FROM post", "A: DROP TABLE post", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT id, likes FROM post ORDER BY id"},
		} {
			t.Run(name, func(t *testing.T) {
				harness.NewTwin(t, srv, schema, harness.Counters("post", "likes")).Play(t, steps...)
			})
		}
	})
}

// TestSetTransactionInside proves that SET TRANSACTION is refused after an
// increment, as after any write, where autocommit is off.
func TestSetTransactionInside(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Play(t, "A: SET autocommit = 0", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT", harness.Everything[0])
	})
}
