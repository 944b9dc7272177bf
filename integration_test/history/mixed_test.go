package history

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestBufferedHistory proves that the history of a buffered table is what its counters have changed
// by, whether an increment waited in memory or not.
func TestBufferedHistory(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := posts(time.Minute)
		config.Rollup = 2 * time.Second
		config.Tables[0].Buffered = &countermysql.Buffered{Every: 50 * time.Millisecond}
		tw, before := newPosts(t, srv, config)
		acknowledged := func() int64 {
			for _, b := range harness.Stats(t, tw.Ours).Buffered {
				return b.Acknowledged
			}
			return 0
		}
		var likes atomic.Int64
		require.Eventually(t, func() bool { likes.Add(harness.Affected(t, tw.Ours, like, 9)); return acknowledged() > 0 }, 30*time.Second, 20*time.Millisecond)
		const enough = 100
		end, latest := time.Now().Add(3*time.Second), time.Now().Add(time.Minute) // on a busy machine it takes longer
		var crowd harness.Crowd
		crowd.Run(8, func(i int) {
			for n := i; time.Now().Before(end) || acknowledged() <= enough && time.Now().Before(latest); n++ {
				id := 1 + n%9
				var err error
				switch n % 5 {
				case 0:
					_, err = tw.Ours.Exec("UPDATE post SET likes = likes + 1, title = ? WHERE id = ?", fmt.Sprint(n), id)
				case 1:
					_, err = tw.Direct.Exec(like, id)
				case 2: // in a transaction
					tx, began := tw.Ours.Begin()
					if !crowd.Check(began) {
						return
					}
					if _, err = tx.Exec(like, id); err == nil {
						err = tx.Commit()
					} else {
						_ = tx.Rollback()
					}
				default:
					_, err = tw.Ours.Exec(like, id)
				}
				if crowd.Check(err) {
					likes.Add(1)
				}
			}
		})
		crowd.NoDeadlocks(t)
		require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		harness.RollUp(t, tw.Ours)
		harness.RollUp(t, tw.Ours)
		require.Greater(t, acknowledged(), int64(enough))
		require.EqualValues(t, likes.Load(), harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post_history"))
		written(t, tw, before)
		require.Empty(t, problems(t, tw.Ours))
	})
}
