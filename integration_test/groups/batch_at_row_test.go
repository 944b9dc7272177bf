package groups

import (
	"fmt"
	"sync"
	"sync/atomic"
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

			require.Eventually(t, func() bool { // at once, but on a busy machine
				atRow, toSlots := burst()
				return atRow < clients*each/2 && toSlots < atRow/4+1
			}, time.Minute, time.Millisecond, "they go together")

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

// TestBatchOfSeveralRows proves that increments of a batch by a unique key, of which two rows have one
// since another client has dropped the index, tell each caller both.
func TestBatchOfSeveralRows(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for late := time.Now().Add(time.Minute); !waitForDroppedIndex(t, srv); { // one did not wait, on a busy machine
			require.True(t, time.Now().Before(late))
		}
	})
}

// waitForDroppedIndex tells whether all of the increments waited until the index was gone.
func waitForDroppedIndex(t *testing.T, srv *testserver.Server) bool {
	tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes", "views")), "interpolateParams=true")
	var wg sync.WaitGroup
	for i := range 12 { // both keys become hot
		wg.Go(func() {
			for range 15 {
				_, err := tw.Ours.Exec(fmt.Sprintf("UPDATE post SET likes = likes + 1 WHERE slug = '%c'", "ba"[i%2]))
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	var sent atomic.Int32
	gate := harness.NewGateOn(t, tw.Sent, func(q string) bool {
		if changesRow("post", []harness.Sending{{Text: q}}) == 0 && !harness.InsertsSlots.MatchString(q) {
			return false
		}
		sent.Add(1)
		return true
	})
	first := harness.Later(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE slug = 'b'") // leads
	<-gate.Reached
	var all []<-chan string
	for range 2 {
		all = append(all, harness.Later(t, harness.Session(t, tw.Ours), "UPDATE post SET likes = likes + 1 WHERE slug = 'a'"))
		harness.Queue()
	}
	for _, statement := range []string{"ALTER TABLE post DROP INDEX slug", "UPDATE post SET slug = 'a' WHERE id = 3"} {
		_, err := tw.Direct.Exec(statement)
		require.NoError(t, err)
	}
	waited := sent.Load() == 1
	gate.Open()
	require.Equal(t, "affected 1", harness.Soon(t, first))
	for _, a := range all {
		answer := harness.Soon(t, a)
		require.True(t, answer == "affected 2" || !waited, answer)
	}
	if waited {
		require.Equal(t, "id INT, likes INT, [1 92][2 91][3 2]", harness.Queried(t.Context(), tw.Ours, "SELECT id, likes FROM post WHERE id < 4"))
	}
	return waited
}
