package writes

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
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
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, begin := range []string{"A: begin", "A: begin RC"} {
			for _, steps := range [][]string{
				{"A: DELETE FROM author WHERE id = 1", "A: INSERT INTO author VALUES (1, 'ann')"},
				{"A: SELECT * FROM post ORDER BY author, no", "A: REPLACE INTO author VALUES (1, 'eve')"},
				{"A: SAVEPOINT s", "A: DELETE FROM author WHERE id = 1", "A: ROLLBACK TO s", "A: DELETE FROM author WHERE id = 1", "A: INSERT INTO author VALUES (1, 'ann')"},
			} {
				tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
				all := []string{
					"A: UPDATE post SET likes = likes + 3 WHERE author = 1 AND no = 1", // in a slot
					begin,
					"A: UPDATE post SET likes = likes + 7 WHERE author = 1 AND no = 1",
					"A: UPDATE post SET likes = likes + 7 WHERE author = 2 AND no = 1",
				}
				all = append(all, steps...)
				tw.Play(t, append(all,
					"A: INSERT INTO post VALUES (1, 1, 0)",
					"A: UPDATE post SET likes = likes + 1 WHERE author = 1 AND no = 1",
					"A: commit",
					"Z: SELECT * FROM post ORDER BY author, no")...)
			}
		}
	})
}

// TestInsertedOverOrphans proves that a row which a transaction inserts under the
// key of one that a cascade has deleted long since has nothing of the old row
// inside that transaction, whatever it does with the row, nor afterwards.
func TestInsertedOverOrphans(t *testing.T) {
	const schema = `CREATE TABLE author (id INT PRIMARY KEY);
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, FOREIGN KEY (id) REFERENCES author (id) ON DELETE CASCADE);
INSERT INTO author VALUES (1), (2);
INSERT INTO post VALUES (1, 10), (2, 20);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, begin := range []string{"A: begin", "A: begin RC"} {
			for _, step := range []string{
				"A: SELECT * FROM post",
				"A: UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 2",
				"A: INSERT INTO post VALUES (2, 0) ON DUPLICATE KEY UPDATE likes = GREATEST(likes, 1)",
				"A: SELECT likes FROM post WHERE id = 2 FOR UPDATE",
			} {
				tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
				tw.Play(t,
					"A: UPDATE post SET likes = likes + 5 WHERE id IN (1, 2)", // in slots
					"A: DELETE FROM author WHERE id = 2",
					begin, "A: SELECT * FROM post",
					"A: INSERT INTO author VALUES (2)", "A: INSERT INTO post VALUES (2, 3)", step, "A: SELECT * FROM post",
					"A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)", step, "A: commit",
					"Z: SELECT * FROM post ORDER BY id")
			}
		}
	})
}

// TestUnreadInsert proves that a row which gets the key of one that a cascade has
// deleted has nothing of it either where the parser can't read the statement.
func TestUnreadInsert(t *testing.T) {
	const schema = `CREATE TABLE author (id INT PRIMARY KEY);
CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, ` + "`rank`" + ` INT NOT NULL DEFAULT 0, FOREIGN KEY (id) REFERENCES author (id) ON DELETE CASCADE);
INSERT INTO author VALUES (1), (2);
INSERT INTO post (id, likes) VALUES (1, 10), (2, 20);
`
	both := []string{
		"A: INSERT INTO post (id, likes) VALUES (1, 1) /*!50000 ON DUPLICATE KEY UPDATE likes = 7 */",
		"A: REPLACE INTO post (id, likes) VALUES /*!50000 (1, 1) */",
		"A: UPDATE post SET id = 1 WHERE id = /*!50000 2 */",
		"A: INSERT INTO post (id, likes) SELECT 1, COUNT(*) FROM author WHERE id NOT IN (SELECT MAX(likes) FROM post) ON DUPLICATE KEY UPDATE likes = 3",
	}
	mariaOnly := []string{ // to MySQL, rank is a reserved word
		"A: INSERT INTO post (id, likes, rank) VALUES (1, 1, 1)",
		"A: UPDATE post SET id = 1, rank = 2 WHERE id = 2",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		statements := both
		if harness.MariaDB(srv) {
			statements = slices.Concat(both, mariaOnly)
		}
		for _, stmt := range statements {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
			tw.Play(t, "A: UPDATE post SET likes = likes + 5 WHERE id IN (1, 2)", "A: DELETE FROM author WHERE id = 1", "A: INSERT INTO author VALUES (1)", stmt, "A: SELECT * FROM post ORDER BY id")
		}
	})
}

// TestCascadeOfCascade proves that a table whose rows change and go through two
// foreign keys keeps its counts under the new keys, and only those.
func TestCascadeOfCascade(t *testing.T) {
	const schema = `CREATE TABLE author (id INT PRIMARY KEY);
CREATE TABLE thread (author INT, no INT, PRIMARY KEY (author, no), FOREIGN KEY (author) REFERENCES author (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE post (author INT, thread INT, no INT, likes INT NOT NULL DEFAULT 0, PRIMARY KEY (author, thread, no),
  FOREIGN KEY (author, thread) REFERENCES thread (author, no) ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO author VALUES (1), (2);
INSERT INTO thread VALUES (1, 1), (2, 1);
INSERT INTO post VALUES (1, 1, 1, 5), (2, 1, 1, 0);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		const like, show = "A: UPDATE post SET likes = likes + 3 WHERE author = 1 AND thread = 1 AND no = 1", "A: SELECT * FROM post ORDER BY author, no"
		tw.Play(t, like, "A: UPDATE author SET id = 10 WHERE id = 1", show, "A: UPDATE author SET id = 1 WHERE id = 10", show,
			"A: begin", like, "A: UPDATE author SET id = 10 WHERE id = 1", show, "A: UPDATE author SET id = 1 WHERE id = 10", "A: commit", show,
			like, "A: begin", like, "A: DELETE FROM author WHERE id = 1", "A: INSERT INTO author VALUES (1)", "A: INSERT INTO thread VALUES (1, 1)",
			"A: INSERT INTO post VALUES (1, 1, 1, 0)", "A: commit", show)
	})
}

// TestCascadeThrough proves that slots follow a key that a cascade changes, where
// the statement reaches the parent through a view, a view of it, a routine, a
// routine that calls it, or a trigger.
func TestCascadeThrough(t *testing.T) {
	const schema = `CREATE TABLE author (id INT PRIMARY KEY);
CREATE TABLE post (author INT, no INT, likes INT NOT NULL DEFAULT 0, PRIMARY KEY (author, no), FOREIGN KEY (author) REFERENCES author (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE rename_request (id INT PRIMARY KEY, later INT);
INSERT INTO author VALUES (1), (2);
INSERT INTO post VALUES (1, 1, 5), (2, 1, 0);
CREATE VIEW people AS SELECT id FROM author;
CREATE VIEW everybody AS SELECT id FROM people;
CREATE PROCEDURE move(a INT, b INT) UPDATE author SET id = b WHERE id = a;
CREATE PROCEDURE move_twice(a INT, b INT, c INT) BEGIN CALL move(a, b); CALL move(b, c); END;
CREATE TRIGGER moving AFTER INSERT ON rename_request FOR EACH ROW UPDATE author SET id = NEW.later WHERE id = NEW.id;
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"))
		const show = "A: SELECT * FROM post ORDER BY author, no"
		for _, move := range []string{"UPDATE people SET id = 10 WHERE id = 1", "UPDATE everybody SET id = 10 WHERE id = 1", "CALL move(1, 10)", "CALL move_twice(1, 7, 10)", "INSERT INTO rename_request VALUES (1, 10)"} {
			const like = "A: UPDATE post SET likes = likes + 3 WHERE author = 1 AND no = 1"
			tw.Play(t, like, "A: "+move, show, "A: UPDATE author SET id = 1 WHERE id = 10", "A: DELETE FROM rename_request", show)
			tw.Play(t, like, "A: begin", like, "A: "+move, show, "A: rollback", show)
		}
		tw.Play(t, "A: UPDATE post SET likes = likes + 3 WHERE author = 1 AND no = 1", "A: SELECT * FROM people ORDER BY id", "A: DELETE FROM people WHERE id = 1", "A: INSERT INTO people VALUES (1)", "A: INSERT INTO post VALUES (1, 1, 0)", show)
	})
}
