package reads

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFailingRows proves that a query of the exact way whose rows end in an
// error leaves a connection that works, under a context that can be cancelled.
func TestFailingRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		conn := harness.Session(t, tw.Ours)
		for range 2 {
			// DEFAULT(column) takes the exact way; the subquery fails at the second row
			rows, err := conn.QueryContext(ctx, "SELECT DEFAULT(likes), (SELECT id FROM post AS other WHERE other.id >= post.id) FROM post ORDER BY id DESC")
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
				require.NoError(t, rows.Close())
			}
			require.Equal(t, 1242, harness.ErrorNumber(err), "%v", err)
			_, err = conn.ExecContext(ctx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			require.NoError(t, err)
		}
	})
}
