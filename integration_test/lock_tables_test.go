package integration_test

import (
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLockTables proves that LOCK TABLES means for counter tables what it means
// for all: those that it leaves out can't be used, and nothing of ours unlocks
// them; BEGIN and another LOCK TABLES do.
func TestLockTables(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters(), "innodb_lock_wait_timeout=1")
		tw.play(t, "A: CREATE VIEW liked AS SELECT id, likes FROM post")
		for _, steps := range [][]string{
			{"A: LOCK TABLES note WRITE", "A: DELETE FROM post WHERE likes > 3", "A: UPDATE post SET likes = likes * 2", "A: SELECT likes FROM post", "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
				"A: INSERT INTO note VALUES (1, '')", "A: SELECT title FROM page", "A: UNLOCK TABLES", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"},
			{"A: LOCK TABLES post WRITE", "A: BEGIN", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: COMMIT"},
			{"A: LOCK TABLES post WRITE", "A: begin RC", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1", "A: commit"},
			{"A: LOCK TABLES note READ", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES post WRITE", "A: SELECT likes FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES post WRITE, note READ",
				"A: SELECT likes FROM post WHERE id = 1", "A: LOCK TABLES note READ", "B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UNLOCK TABLES"},
			{"A: LOCK TABLES post WRITE", "A: LOCK TABLES post AS p READ, note AS p WRITE", "A: SELECT title FROM page", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES post p nonsense", "A: SELECT title FROM page", "A: LOCK TABLES nosuch READ", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"},
			{"A: LOCK TABLES note WRITE", "A: LOCK TABLES note AS p READ, page AS p WRITE", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UNLOCK TABLES"},
			{"A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES post AS p READ, note AS p WRITE", "A: SELECT likes FROM post WHERE id = 1", "A: rollback"},
			{"B: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: LOCK TABLES liked WRITE", "A: SELECT * FROM liked ORDER BY id", "A: UPDATE liked SET likes = likes * 2 WHERE id = 1", "A: SELECT * FROM liked ORDER BY id", "A: UNLOCK TABLES"},
		} {
			tw.reset(t)
			tw.play(t, append(steps, everything...)...)
		}
	})
}
