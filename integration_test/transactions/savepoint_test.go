package transactions

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSavepointBehindIncrement proves that ROLLBACK TO leaves the transaction its
// snapshot and its locks where only increments came before the savepoint: they were
// pending, so that the server did not know of them.
func TestSavepointBehindIncrement(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{{}, {"autocommit=0"}} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params...)
			for _, begin := range []string{"A: SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED"} {
				for _, first := range [][]string{
					{"A: UPDATE post SET likes = likes + 1 WHERE id = 1"},
					{"A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UPDATE post SET likes = likes - 1 WHERE id = 1"},
					{"A: UPDATE post SET likes = likes + 1 WHERE id = 99"},
					{"A: SET sql_select_limit = 0", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET sql_select_limit = DEFAULT"},
				} {
					tw.Reset(t)
					tw.Play(t, slices.Concat([]string{begin, "A: BEGIN"}, first, []string{
						"A: SAVEPOINT a", "B: UPDATE post SET likes = likes + 70 WHERE id = 2", "B: COMMIT", // no snapshot is fixed yet
						"A: SELECT SUM(likes) FROM post", "A: SELECT * FROM author WHERE id = 1 FOR UPDATE",
						"B: UPDATE post SET likes = likes + 7 WHERE id = 2", "B: COMMIT",
						"A: ROLLBACK TO a", "A: SELECT likes FROM post ORDER BY id",
						"B: SELECT * FROM author WHERE id = 1 FOR UPDATE NOWAIT", "B: ROLLBACK", "A: ROLLBACK",
					})...)
				}
			}
		}
	})
}
