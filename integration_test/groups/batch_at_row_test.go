package groups

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestBatchesAtTheRow proves that increments of one row that meet in a process go together to its base
// row; to slots, without waiting, while somebody shares the row's lock, and not for long behind that;
// and that all are counted.
func TestBatchesAtTheRow(t *testing.T) {
	const clients, each = 16, 50
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false"} {
			tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes", "views")), params)
			counted := 0
			burst := func() (atRow, toSlots int) {
				sent := tw.Sent.During(func() {
					var wg sync.WaitGroup
					for range clients {
						wg.Go(func() {
							for range each {
								res, err := tw.Ours.Exec("UPDATE post SET likes = likes + 1, views = views + ? WHERE id = ?", 2, 1)
								if !assert.NoError(t, err) {
									return
								}
								n, err := res.RowsAffected()
								assert.NoError(t, err)
								assert.EqualValues(t, 1, n)
							}
						})
					}
					wg.Wait()
				})
				require.False(t, t.Failed())
				counted += clients * each
				harness.Affected(t, tw.Plain, "UPDATE post SET likes = likes + ?, views = views + ? WHERE id = 1", clients*each, 2*clients*each)
				tw.Same(t, "SELECT id, slug, likes, views, small, updated_at IS NULL FROM post")
				for _, s := range sent {
					if harness.InsertsSlots.MatchString(s.Text) {
						toSlots++
					}
				}
				return changesRow("post", sent), toSlots
			}
			inSlots := func() int64 { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post_slots") }

			atRow, toSlots := burst()
			require.Less(t, atRow, clients*each/2, "they went together")
			require.Less(t, toSlots, atRow/4+1)

			tx, err := tw.Direct.Begin()
			require.NoError(t, err)
			harness.Affected(t, tx, "INSERT INTO log (post_id) VALUES (1)") // a shared lock
			burst()
			require.Positive(t, inSlots())
			require.NoError(t, tx.Commit())

			require.Eventually(t, func() bool {
				atRow, toSlots := burst()
				return atRow > 0 && toSlots == 0
			}, 20*time.Second, 100*time.Millisecond)
			require.Eventually(t, func() bool { return inSlots() == 0 }, 10*time.Second, 20*time.Millisecond)
			require.EqualValues(t, counted, harness.Number(t, tw.Direct, "SELECT likes FROM post WHERE id = 1"))
		}
	})
}
