package transactions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestOldSnapshotsUnlogged pins that on MySQL without a binary log, which writes some rows
// that an UPDATE does not change, a transaction with an old snapshot sees all rows as they
// are now behind an UPDATE that may have done so: one that does not read all columns that
// it sets.
func TestOldSnapshotsUnlogged(t *testing.T) {
	t.Parallel()
	srv, err := testserver.Start(t.Context(), testserver.MySQL, testserver.WithArgs("--skip-log-bin"))
	require.NoError(t, err)
	t.Cleanup(srv.Stop)
	tw := harness.NewBlog(t, srv, harness.BlogCounters())
	for update, untold := range map[string]bool{
		"A: UPDATE post SET likes = likes + 0 WHERE id = 1":                    false,
		"A: UPDATE post SET likes = likes + 0, views = views + 0 WHERE id = 1": false,
		"A: UPDATE post SET title = title WHERE id = 1":                        false,
		"A: UPDATE post SET author = 1 WHERE id = 1 AND author = 1":            false,
		"A: UPDATE post SET author = 1, title = title WHERE id = 1":            true,
		"A: UPDATE post SET author = 1 WHERE id = 1":                           true,
		"A: UPDATE post SET likes = likes + 0, author = 1 WHERE id = 1":        true,
	} {
		t.Run(update, func(t *testing.T) {
			for _, begin := range []string{"A: START TRANSACTION WITH CONSISTENT SNAPSHOT", "A: BEGIN"} {
				tw.Reset(t)
				steps := []string{"A: SELECT COUNT(*) FROM note", "B: UPDATE post SET likes = likes + 8 WHERE id IN (1, 2)", update, "A: SELECT * FROM post", "A: SELECT SUM(likes) FROM post", "A: COMMIT"}
				if !untold {
					tw.Play(t, append([]string{begin}, steps...)...)
					continue
				}
				want := harness.PlayOn(t, tw.Plain, append([]string{"A: begin RC"}, steps...))
				got := harness.PlayOn(t, tw.Ours, append([]string{begin}, steps...))
				require.Equal(t, want[1:], got[1:])
			}
		})
	}
}
