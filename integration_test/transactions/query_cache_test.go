package transactions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestQueryCache proves that a savepoint behind an increment fixes no snapshot on a MariaDB with a query
// cache, which does that for each query that it may keep.
func TestQueryCache(t *testing.T) {
	srv, err := testserver.Start(t.Context(), testserver.MariaDB, testserver.WithArgs("--query-cache-type=1", "--query-cache-size=16M"))
	require.NoError(t, err)
	t.Cleanup(srv.Stop)
	tw := harness.NewBlog(t, srv, harness.BlogCounters())
	tw.Play(t, "A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SAVEPOINT a", "B: UPDATE post SET likes = likes + 70 WHERE id = 2",
		"A: SELECT SUM(likes) FROM post", "B: UPDATE post SET likes = likes + 7 WHERE id = 2", "A: SELECT id, likes FROM post ORDER BY id", "A: COMMIT")
}
