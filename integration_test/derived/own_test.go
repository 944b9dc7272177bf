package derived

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// ownSchema has posts whose comments go with them, and what writes comments without naming them.
const ownSchema = `CREATE TABLE blog (id INT PRIMARY KEY);
CREATE TABLE post (id INT PRIMARY KEY, blog INT NOT NULL DEFAULT 1, likes INT NOT NULL DEFAULT 0, comments INT NOT NULL DEFAULT 0, title VARCHAR(40) NOT NULL DEFAULT '', slug VARCHAR(10) UNIQUE, FOREIGN KEY (blog) REFERENCES blog (id) ON DELETE CASCADE);
CREATE TABLE comment (id INT AUTO_INCREMENT PRIMARY KEY, post_id INT NULL, KEY (post_id));
CREATE TABLE note (id INT PRIMARY KEY, p INT);
CREATE TABLE seen (id INT, comments INT);
INSERT INTO blog VALUES (1);
INSERT INTO post (id) VALUES (1), (2), (3);
CREATE VIEW counted AS SELECT id, comments FROM post;
CREATE PROCEDURE total() SELECT SUM(comments) FROM post;
CREATE PROCEDURE built(x INT) BEGIN SET @q = CONCAT('INSERT INTO comm', 'ent (post_id) VALUES (', x, ')'); PREPARE zz FROM @q; EXECUTE zz; END;
CREATE FUNCTION commented(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO comment (post_id) VALUES (x); RETURN 1; END;
CREATE VIEW acting AS SELECT commented(1) AS x;
CREATE VIEW through AS SELECT x FROM acting;
CREATE TRIGGER noted BEFORE INSERT ON note FOR EACH ROW INSERT INTO comment (post_id) VALUES (1)`

// handmade are the triggers of plain's.
const handmade = `CREATE TRIGGER h1 AFTER INSERT ON comment FOR EACH ROW UPDATE post SET comments = comments + 1 WHERE id = NEW.post_id;
CREATE TRIGGER h2 AFTER DELETE ON comment FOR EACH ROW UPDATE post SET comments = comments - 1 WHERE id = OLD.post_id;
CREATE TRIGGER h3 AFTER UPDATE ON comment FOR EACH ROW BEGIN UPDATE post SET comments = comments - 1 WHERE id = OLD.post_id; UPDATE post SET comments = comments + 1 WHERE id = NEW.post_id; END`

// byHand are twins of which plain has its triggers by hand.
func byHand(t *testing.T, srv *testserver.Server) *harness.Twin {
	config := harness.Counters("post", "likes", "comments")
	config.Tables[0].Derived = map[string]string{"comments": "SELECT post_id, COUNT(*) FROM comment GROUP BY post_id"}
	tw := harness.NewTwin(t, srv, ownSchema, config)
	initialized(t, tw.Ours)
	harness.ExecAll(t, tw.Plain, handmade)
	return tw
}

// sameByHand plays steps on both, from the same three posts. "rollup" is one of ours. That a CALL
// tells no rows affected is the server's.
func sameByHand(t *testing.T, tw *harness.Twin, steps ...string) {
	t.Helper()
	answers := func(db *sql.DB) []string {
		harness.ExecAll(t, tw.DirectTo(db), "DELETE FROM comment;\nDELETE FROM post;\nDELETE FROM blog;\nDELETE FROM note;\nDELETE FROM seen;\nINSERT INTO blog VALUES (1);\nINSERT INTO note VALUES (1, 1), (2, 2);\nDELETE FROM comment;\nINSERT INTO post (id) VALUES (1), (2), (3)")
		if db == tw.Ours {
			harness.Affected(t, tw.Direct, "DELETE FROM post_slots")
		}
		s := &harness.Script{Db: db, Clients: map[string]*harness.Client{}}
		defer s.End()
		for _, step := range steps {
			if step != "rollup" {
				s.Do(t, step)
			} else if db == tw.Ours {
				_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
				require.NoError(t, err)
			}
		}
		return slices.DeleteFunc(s.Answers, func(a string) bool { return strings.Contains(a, "CALL built") })
	}
	want, got := answers(tw.Plain), answers(tw.Ours)
	for i := range want {
		if want[i] != got[i] {
			t.Errorf("of\n  %s\nplain: %s\nours:  %s", strings.Join(steps, "\n  "), want[i], got[i])
			return
		}
	}
}

const (
	seePosts   = "A: SELECT id, title, likes, comments FROM post ORDER BY id"
	seeComment = "A: SELECT comments FROM post WHERE id = 1"
	comment1   = "A: INSERT INTO comment (post_id) VALUES (1)"
	comment3   = "A: INSERT INTO comment (post_id) VALUES (3)"
)

// TestOwnCommentsInWholeTable proves that statements which need the counters of rows that are not
// named have those of comments that their own transaction has written, first of all on a post.
func TestOwnCommentsInWholeTable(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := byHand(t, srv)
		for _, level := range []string{"RC", "RR", "S"} {
			for _, stmt := range []string{
				"UPDATE post SET title = CONCAT('c', comments)", "UPDATE post SET likes = comments", "UPDATE post SET likes = likes + 1 WHERE comments > 0", "DELETE FROM post WHERE comments = 1", "UPDATE post SET likes = 1 ORDER BY comments DESC, id LIMIT 1",
				"INSERT INTO post (id) VALUES (1) ON DUPLICATE KEY UPDATE title = CONCAT('u', comments)", "SET @x = (SELECT SUM(comments) FROM post)", "UPDATE post p JOIN note n ON n.p = p.id SET p.title = CONCAT('j', p.comments)",
				"SELECT SUM(comments) FROM counted", "CALL total()", "SELECT comments FROM post, JSON_TABLE('[1]', '$[*]' COLUMNS (a INT PATH '$')) j WHERE id = 1", "SELECT SUM(comments) FROM post FOR UPDATE", "SELECT title, SUM(comments) FROM post GROUP BY title WITH ROLLUP",
				"SELECT id, comments FROM post WHERE comments > 0 FOR UPDATE", "INSERT INTO seen SELECT id, comments FROM post", "UPDATE post SET id = id + 10 ORDER BY id",
			} {
				sameByHand(t, tw, "A: begin "+level, comment1, "A: "+stmt, seePosts, "A: SELECT @x", "A: SELECT * FROM seen", comment1, "A: "+stmt, seePosts, "A: commit", seePosts, "rollup", seePosts)
			}
			sameByHand(t, tw, "A: begin "+level, comment1, "A: CREATE TEMPORARY TABLE copy SELECT id, comments FROM post", "A: SELECT * FROM copy ORDER BY id", "A: DROP TEMPORARY TABLE copy", "A: commit", seePosts)
			sameByHand(t, tw, "A: begin "+level, comment1, "A: SAVEPOINT a", comment3, "A: UPDATE post SET likes = comments", "A: ROLLBACK TO a", "A: UPDATE post SET title = comments", seePosts, "A: commit", seePosts)
		}
	})
}

// TestOwnCommentsOfGonePosts proves that a post begins at what its INSERT says, also where the
// transaction itself has written comments of the post that was there before, or is to come.
func TestOwnCommentsOfGonePosts(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := byHand(t, srv)
		for _, level := range []string{"RC", "RR", "S"} {
			for _, steps := range [][]string{
				{comment3, "DELETE FROM post", "INSERT INTO post (id) VALUES (3)"},
				{comment3, "DELETE FROM post WHERE id = 3", "INSERT INTO post (id) VALUES (3)"},
				{comment3, "DELETE FROM post WHERE id = 3", comment3, "INSERT INTO post (id) VALUES (3)", comment3},
				{comment3, "DELETE FROM post WHERE id = 3", "INSERT INTO post (id) SELECT 3"},
				{comment3, "REPLACE INTO post (id) SELECT 3"},
				{comment3, "REPLACE INTO post (id, comments) VALUES (3, 0)"},
				{comment3, "DELETE FROM blog", "INSERT INTO blog VALUES (1)", "INSERT INTO post (id) VALUES (3)"},
				{comment3, "DELETE FROM blog", "INSERT INTO blog VALUES (1)", comment3, "INSERT INTO post (id) SELECT 3"},
				{"INSERT INTO comment (post_id) VALUES (9)", "INSERT INTO post (id) VALUES (8), (9)", "INSERT INTO comment (post_id) VALUES (9)"},
				{"INSERT INTO comment (post_id) VALUES (9)", "INSERT INTO post (id) SELECT id + 6 FROM post"},
				{"INSERT INTO comment (post_id) VALUES (9)", "UPDATE post SET id = 9 WHERE id = 3"},
				{"INSERT INTO comment (post_id) VALUES (9)", "UPDATE post SET id = id + 6 WHERE likes = 0 ORDER BY id DESC"},
				{"INSERT INTO comment (post_id) VALUES (9)", "INSERT IGNORE INTO post (id) VALUES (1), (9)"},
				{"INSERT INTO comment (post_id) VALUES (9)", "INSERT INTO post (id) VALUES (9) ON DUPLICATE KEY UPDATE likes = likes + 1"},
				{"INSERT INTO comment (post_id) VALUES (9)", "SAVEPOINT a", "INSERT INTO post (id) VALUES (9)", "ROLLBACK TO a", "INSERT INTO post (id) VALUES (9)"},
			} {
				all := []string{"A: begin " + level}
				for _, step := range steps {
					all = append(all, "A: "+strings.TrimPrefix(step, "A: "))
				}
				sameByHand(t, tw, append(all, seePosts, "A: commit", seePosts, "rollup", seePosts)...)
			}
		}
	})
}

// TestCommentsThatAreNotNamed proves that a transaction sees the effect of comments which its
// statements have written without naming them, and without changing a row themselves.
func TestCommentsThatAreNotNamed(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := byHand(t, srv)
		for _, level := range []string{"RC", "RR"} {
			for _, stmt := range []string{
				"SET @z = commented(1)", "SET @z = 1, @y = commented(1)", "CALL built(1)", "SELECT * FROM acting", "SELECT * FROM through", "DO commented(1)", "SELECT commented(1)", "SELECT commented(1) INTO @z",
				"DELETE FROM note WHERE commented(1) = 0 AND id = 1", "UPDATE note SET p = commented(1) WHERE id = 1", "INSERT IGNORE INTO note VALUES (1, 1)", "CREATE TEMPORARY TABLE IF NOT EXISTS copy SELECT commented(1) AS x",
			} {
				locked := "A: SELECT comments FROM post WHERE id = 1 FOR UPDATE"
				sameByHand(t, tw, "A: INSERT INTO comment (post_id) VALUES (1), (1)", "rollup", "A: begin "+level, seeComment, "A: "+stmt, locked, "A: UPDATE post SET title = CONCAT('c', comments) WHERE id = 1", "A: commit", seePosts)
				sameByHand(t, tw, "A: INSERT INTO comment (post_id) VALUES (1), (1)", "A: begin "+level, seeComment, "rollup", "A: "+stmt, seeComment, "A: commit", seePosts)
			}
		}
	})
}
