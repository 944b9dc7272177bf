package transactions

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRoutinesThatCommit proves that what is known of a transaction is forgotten with
// it, where a procedure ends it: also if it has rows, behind which the server tells that,
// and if it begins another one. What was known of slots would keep those that others have
// added since from being seen, and from being rolled up.
func TestRoutinesThatCommit(t *testing.T) {
	const exact, look = "A: UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1", "A: SELECT likes FROM post WHERE id = 1"
	const others, guarded = "B: UPDATE post SET likes = likes + 7 WHERE id = 1", "A: UPDATE post SET likes = GREATEST(likes - 12, 0) WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters(), "innodb_lock_wait_timeout=1")
		tw.Play(t, "A: CREATE PROCEDURE tell() BEGIN SELECT 1 AS x; COMMIT; END",
			"A: CREATE PROCEDURE tells() BEGIN COMMIT; SELECT 1 AS x; END",
			"A: CREATE PROCEDURE telling() BEGIN START TRANSACTION; UPDATE post SET title = 'x' WHERE id = 1; SELECT 1 AS x; END",
			"A: CREATE PROCEDURE again() BEGIN COMMIT; START TRANSACTION; INSERT INTO note VALUES (50, ''); END",
			"A: CREATE PROCEDURE goeson() BEGIN COMMIT; INSERT INTO note VALUES (50, ''); END")
		for _, steps := range [][]string{
			{"A: BEGIN", exact, "A: CALL tell()", others, look, guarded, look},
			{"A: SET autocommit = 0", exact, "A: CALL tell()", others, look, guarded, look, "A: COMMIT"},
			{"A: begin", exact, "A: CALL tells()", look, others, guarded, look, "A: commit"},
			{"A: SET autocommit = 0", exact, "A: CALL tells()", others, guarded, look, "A: COMMIT"},
			{"A: PREPARE teller FROM 'COMMIT'", "A: BEGIN", exact, "A: EXECUTE teller", others, guarded, look},
			{"A: CALL telling()", others[:len(others)-1] + "2", rollUp2, "A: SELECT id, title, likes FROM post ORDER BY id", "A: ROLLBACK"},
			{"A: BEGIN", exact, "A: CALL again()", others, look, guarded, look, "A: COMMIT"},
			{"A: BEGIN", exact, "A: CALL again()", others, guarded, look, "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: ROLLBACK"},
			{"A: SET autocommit = 0", exact, "A: CALL goeson()", others, look, "A: COMMIT", look, guarded, look, "A: COMMIT"},
		} {
			tw.Reset(t)
			tw.Play(t, slices.Concat(steps, []string{"A: SET autocommit = 1"}, harness.Everything)...)
		}
	})
}
