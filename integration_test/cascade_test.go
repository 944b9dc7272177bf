package integration_test

import (
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestInsertedAfterCascade proves that a row which is inserted under a key that a
// cascade of the same transaction has freed has nothing of the old row: neither
// its slots nor what was pending for it.
func TestInsertedAfterCascade(t *testing.T) {
	const schema = `CREATE TABLE author (id INT PRIMARY KEY, name VARCHAR(9) NOT NULL);
CREATE TABLE post (author INT, no INT, likes INT NOT NULL DEFAULT 0, PRIMARY KEY (author, no),
  FOREIGN KEY (author) REFERENCES author (id) ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO author VALUES (1, 'ann'), (2, 'bob');
INSERT INTO post VALUES (1, 1, 5), (1, 2, 0), (2, 1, 0);
`
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, begin := range []string{"A: begin", "A: begin RC"} {
			for _, steps := range [][]string{
				{"A: DELETE FROM author WHERE id = 1", "A: INSERT INTO author VALUES (1, 'ann')"},
				{"A: SELECT * FROM post ORDER BY author, no", "A: REPLACE INTO author VALUES (1, 'eve')"},
				{"A: SAVEPOINT s", "A: DELETE FROM author WHERE id = 1", "A: ROLLBACK TO s", "A: DELETE FROM author WHERE id = 1", "A: INSERT INTO author VALUES (1, 'ann')"},
			} {
				tw := newTwin(t, srv, schema, counters("post", "likes"))
				all := []string{
					"A: UPDATE post SET likes = likes + 3 WHERE author = 1 AND no = 1", // in a slot
					begin,
					"A: UPDATE post SET likes = likes + 7 WHERE author = 1 AND no = 1",
					"A: UPDATE post SET likes = likes + 7 WHERE author = 2 AND no = 1",
				}
				all = append(all, steps...)
				tw.play(t, append(all,
					"A: INSERT INTO post VALUES (1, 1, 0)",
					"A: UPDATE post SET likes = likes + 1 WHERE author = 1 AND no = 1",
					"A: commit",
					"Z: SELECT * FROM post ORDER BY author, no")...)
			}
		}
	})
}
