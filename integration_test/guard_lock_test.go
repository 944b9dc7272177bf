package integration_test

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestGuardedBesideIncrement proves that a guarded decrement in a READ COMMITTED
// transaction and an increment of the same row wait for each other as on plain MySQL, at
// whatever step of the one the other comes: neither is the victim of a deadlock.
func TestGuardedBesideIncrement(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := blogCounters()
		config.Slots = 1 // both come to the same one
		tw := newBlog(t, srv, config)
		for _, step := range []string{"FOR UPDATE", "NOT EXISTS", "UPDATE `", "DELETE ", "none"} {
			tw.reset(t)
			affected(t, tw.ours, likeOne) // into the slot
			tx, err := tw.ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
			require.NoError(t, err)
			defer tx.Rollback()
			affected(t, tx, "INSERT INTO note VALUES (1, '')")
			answer := make(chan error, 1)
			var started atomic.Bool
			increment := func() {
				if !started.CompareAndSwap(false, true) {
					return
				}
				go func() {
					answer <- inTransaction(context.WithoutCancel(t.Context()), tw.ours, sql.LevelDefault, []string{"INSERT INTO note VALUES (2, '')", likeOne})
				}()
				time.Sleep(100 * time.Millisecond)
			}
			tw.sent.meddle(t, func(query string) error {
				if strings.Contains(query, step) {
					increment()
				}
				return nil
			})
			require.EqualValues(t, 1, affected(t, tx, "UPDATE post SET likes = likes - 3 WHERE id = 1 AND likes >= 3"), step)
			increment()
			require.NoError(t, tx.Commit(), step)
			require.NoError(t, <-answer, step)
			tw.sent.before.Store(nil)
			require.EqualValues(t, 9, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"), step)
		}
	})
}
