package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSetTransactionInside proves that SET TRANSACTION is refused after an
// increment, as after any write, where autocommit is off.
func TestSetTransactionInside(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Play(t, "A: SET autocommit = 0", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: SELECT likes FROM post WHERE id = 1", "A: COMMIT", harness.Everything[0])
	})
}
