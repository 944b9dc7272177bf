package transactions

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSeemingCommits proves that statements which look like DDL and commit nothing leave
// the transaction what it was, and that SET DEFAULT ROLE, which looks harmless, commits
// pending increments.
func TestSeemingCommits(t *testing.T) {
	const like, exact, look = "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1", "A: SELECT likes FROM post ORDER BY id"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		scripts := [][]string{
			{"A: PREPARE s FROM 'SELECT 1'", "A: BEGIN", exact, "A: DROP PREPARE s", exact, look, "A: COMMIT"},
			{"A: PREPARE s FROM 'SELECT 1'", "A: begin", "A: SELECT * FROM note", like, "B: UPDATE post SET likes = likes + 7 WHERE id = 2", "A: DROP PREPARE s", "A: UPDATE post SET title = 'x' WHERE id = 1", look, "A: rollback"},
			{"A: begin", like, "A: SET DEFAULT ROLE NONE", like, "A: rollback"},
		}
		if !harness.MariaDB(srv) {
			scripts = append(scripts,
				[]string{"A: BEGIN", exact, "A: LOCK INSTANCE FOR BACKUP", exact, look, "A: UNLOCK INSTANCE", exact, "A: COMMIT"},
				[]string{"A: LOCK INSTANCE FOR BACKUP", "A: LOCK TABLES note WRITE", "A: UNLOCK INSTANCE", "A: UPDATE post SET likes = likes * 2 WHERE id = 1", look, "A: UNLOCK TABLES"},
				[]string{"A: begin", like, "A: SET DEFAULT ROLE NONE TO CURRENT_USER()", like, "A: rollback"})
		}
		for _, steps := range scripts {
			tw.Reset(t)
			tw.Play(t, slices.Concat(steps, harness.Everything)...)
		}
	})
}
