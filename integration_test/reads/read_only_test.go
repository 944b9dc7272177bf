package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReadOnlyLocks proves that shared locks are to be had where writes are refused,
// as on plain MySQL, and exclusive ones are not.
func TestReadOnlyLocks(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, steps := range [][]string{
			{"A: SET TRANSACTION READ ONLY", "A: SELECT likes FROM post WHERE id = 1 FOR UPDATE", "A: SELECT likes FROM post WHERE id = 1"},
			{"A: SET TRANSACTION READ ONLY", "A: SELECT likes FROM post WHERE id = 1 LOCK IN SHARE MODE", "A: SELECT likes FROM post WHERE id = 1"},
			{"A: SET @v = 1", "A: SET TRANSACTION READ ONLY", "A: SELECT likes + @v FROM post WHERE id = 1 FOR UPDATE", "A: SELECT likes + @v FROM post WHERE id = 1"},
			{"A: SET SESSION TRANSACTION READ ONLY", "A: SELECT likes FROM post WHERE id = 1 FOR UPDATE", "A: UPDATE post SET likes = 3 WHERE id = 1", "A: SET SESSION TRANSACTION READ WRITE"},
			{"A: START TRANSACTION READ ONLY", "A: SELECT likes FROM post WHERE id = 1 FOR UPDATE", "A: COMMIT"},
			{"A: START TRANSACTION READ ONLY", "A: SELECT likes FROM post WHERE id = 1 LOCK IN SHARE MODE", "A: SELECT id, likes FROM post ORDER BY id LOCK IN SHARE MODE", "A: COMMIT"},
			{"A: SET SESSION TRANSACTION READ ONLY", "A: SELECT likes FROM post WHERE id = 1 LOCK IN SHARE MODE", "A: begin", "A: SELECT likes FROM post WHERE id = 1 LOCK IN SHARE MODE", "A: commit", "A: SET SESSION TRANSACTION READ WRITE"},
		} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
			tw.Play(t, append(steps, harness.Everything...)...)
		}
	})
}

// TestReadOnlyBehindText proves that who has run a text or a routine in a READ ONLY transaction, of which
// nobody knows what it has done, reads without a lock, which the server refuses there.
func TestReadOnlyBehindText(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Blog+"CREATE PROCEDURE tell() SELECT 1", harness.BlogCounters())
		for _, ran := range []string{"EXECUTE p", "CALL tell()", "DO SLEEP(0)"} {
			for _, query := range []string{"SELECT likes FROM post WHERE id = 1", "SELECT likes, views FROM post WHERE id IN (1, 2)", "SELECT SUM(likes) FROM post"} {
				tw.Play(t, "A: PREPARE p FROM 'SELECT 1'", "A: START TRANSACTION READ ONLY", "A: "+ran, "A: "+query, "A: COMMIT")
			}
		}
	})
}
