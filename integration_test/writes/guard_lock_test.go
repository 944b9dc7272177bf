package writes

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestGuardedBesideIncrement proves that a guarded decrement in a READ COMMITTED
// transaction and an increment of the same row wait for each other as on plain MySQL, at
// whatever step of the one the other comes: neither is the victim of a deadlock.
func TestGuardedBesideIncrement(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.BlogCounters()
		config.Slots = 1 // both come to the same one
		tw := harness.NewBlog(t, srv, config)
		for _, step := range []string{"FOR UPDATE", "NOT EXISTS", "UPDATE `", "DELETE ", "none"} {
			tw.Reset(t)
			harness.Affected(t, tw.Ours, harness.LikeOne) // into the slot
			tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
			require.NoError(t, err)
			defer tx.Rollback()
			harness.Affected(t, tx, "INSERT INTO note VALUES (1, '')")
			answer := make(chan error, 1)
			var started atomic.Bool
			increment := func() {
				if !started.CompareAndSwap(false, true) {
					return
				}
				go func() {
					answer <- harness.InTransaction(context.WithoutCancel(t.Context()), tw.Ours, sql.LevelDefault, []string{"INSERT INTO note VALUES (2, '')", harness.LikeOne})
				}()
				time.Sleep(100 * time.Millisecond)
			}
			tw.Sent.Meddle(t, func(query string) error {
				if strings.Contains(query, step) {
					increment()
				}
				return nil
			})
			require.EqualValues(t, 1, harness.Affected(t, tx, "UPDATE post SET likes = likes - 3 WHERE id = 1 AND likes >= 3"), step)
			increment()
			require.NoError(t, tx.Commit(), step)
			require.NoError(t, <-answer, step)
			tw.Sent.Before.Store(nil)
			require.EqualValues(t, 9, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"), step)
		}
	})
}
