package transactions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestOldSnapshotsUnlogged proves that a transaction with an old snapshot sees rows
// of UPDATEs that change nothing as on plain MySQL without a binary log: there some
// are written nevertheless, and then seen as they are now.
func TestOldSnapshotsUnlogged(t *testing.T) {
	t.Parallel()
	srv, err := testserver.Start(t.Context(), testserver.MySQL, testserver.WithArgs("--skip-log-bin"))
	require.NoError(t, err)
	t.Cleanup(srv.Stop)
	tw := harness.NewBlog(t, srv, harness.BlogCounters())
	for _, update := range []string{
		"A: UPDATE post SET likes = likes + 0 WHERE id = 1",
		"A: UPDATE post SET likes = likes + 0, views = views + 0 WHERE id = 1",
		"A: UPDATE post SET title = title WHERE id = 1",
		"A: UPDATE post SET author = 1 WHERE id = 1 AND author = 1",
		"A: UPDATE post SET author = 1, title = title WHERE id = 1",
		"A: UPDATE post SET author = 1 WHERE id = 1",
		"A: UPDATE post SET likes = likes + 0, author = 1 WHERE id = 1",
	} {
		t.Run(update, func(t *testing.T) {
			for _, begin := range []string{"A: START TRANSACTION WITH CONSISTENT SNAPSHOT", "A: BEGIN"} {
				tw.Reset(t)
				tw.Play(t, begin, "A: SELECT COUNT(*) FROM note", "B: UPDATE post SET likes = likes + 8 WHERE id = 1", update, "A: SELECT * FROM post", "A: SELECT SUM(likes) FROM post", "A: COMMIT", "A: SELECT * FROM post")
			}
		})
	}
}
