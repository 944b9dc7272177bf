package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestPlacesBehindTheList proves that a place in ORDER BY or GROUP BY is one of the query's own
// columns: none is found behind them, where a look has hidden ones.
func TestPlacesBehindTheList(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Reset(t)
		harness.RollUp(t, tw.Ours)
		tw.Same(t, "SELECT 1 FROM post") // learns the schema
		for range 2 {
			for _, query := range []string{"SELECT id, likes FROM post ORDER BY 3", "SELECT id, likes FROM post ORDER BY 2, 1", "SELECT * FROM post ORDER BY 99", "SELECT * FROM note ORDER BY 3",
				"SELECT SUM(likes) FROM post GROUP BY 2", "SELECT post.* FROM post ORDER BY 1", "SELECT *, likes FROM post ORDER BY 9"} {
				tw.Same(t, query)
			}
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)") // in slots
		}
	})
}
