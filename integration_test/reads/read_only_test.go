package reads

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

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

// TestReadOnlyNonsense proves that a text which is no statement fails with the error of
// that, also where nothing may be written.
func TestReadOnlyNonsense(t *testing.T) {
	nonsense := []string{
		"SELEC likes FROM post", "SELECT likes FROM post WHERE", "/* sent by Exec */ SELECT likes FROM post WHERE (id = 1", "UPDATE post SET likes = WHERE id = 1", "DELETE FROM post WHERE likes >",
		"INSERT INTO post SET", "SET @x = (SELECT likes FROM post", "SET autocommit = 1, @x = (SELECT likes FROM post", "DO (SELECT likes FROM post", "UPDATE post SET likes = 0 WHERE id = 1", "SELECT nonsense FROM post", "SELECT likes FROM post WHERE id = 1",
		"SELECT likes, BIT_OR(likes) FROM post GROUP BY likes HAVING nonsense > 0", "SELECT likes FROM post ORDER BY nonsense", "SELECT likes, likes FROM post ORDER BY likes", "SELECT likes FROM post p, post o WHERE p.id = o.id",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for i, params := range [][]string{nil, {"multiStatements=true"}} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params...)
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1")
			for _, step := range nonsense {
				tw.Play(t, "A: START TRANSACTION READ ONLY", "A: SELECT COUNT(*) FROM note", "A: "+step, "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT")
				tw.Play(t, "A: SET SESSION TRANSACTION READ ONLY", "A: "+step, "A: SET SESSION TRANSACTION READ WRITE")
			}
			require.Positive(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots"))
			_, dsn := harness.NewUser(t, tw, fmt.Sprint("reader", i), "SELECT ON "+harness.DbName(t, tw.Ours)+".*")
			db, _ := harness.OpenOurs(t, dsn, tw.Config)
			for step, want := range map[string]int{nonsense[0]: 1064, nonsense[1]: 1064, "UPDATE post SET likes = 0 WHERE id = 1": 1142} {
				_, err := db.Exec(step)
				require.Equal(t, want, harness.ErrorNumber(err), step)
			}
		}
	})
}
