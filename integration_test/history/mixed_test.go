package history

import (
	"fmt"
	"strings"
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

// TestExplained proves that Explain tells of what gets into a history, and of nothing else.
func TestExplained(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, _ := newPosts(t, srv, posts(time.Hour))
		for stmt, writes := range map[string]bool{
			"UPDATE post SET likes = likes + 1 WHERE id = 1":                                       true,
			"UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)":                                 true,
			"UPDATE post SET likes = 7 WHERE id = 3":                                               true,
			"UPDATE post SET stock = stock - 1 WHERE id = 4 AND stock > 0":                         true,
			"INSERT INTO post (id, likes) VALUES (20, 3)":                                          true,
			"INSERT INTO post (id, likes) VALUES (1, 1) ON DUPLICATE KEY UPDATE likes = likes + 1": true,
			"REPLACE INTO post (id, likes) VALUES (5, 4)":                                          true,
			"UPDATE post SET title = 'x' WHERE id = 1":                                             false,
			"DELETE FROM post WHERE id = 6":                                                        false,
			"SELECT likes FROM post":                                                               false,
			"SELECT * FROM post FOR UPDATE":                                                        false,
		} {
			e, err := countermysql.Explain(t.Context(), tw.Ours, stmt)
			require.NoError(t, err)
			told := strings.Contains(e.String(), "to the history post_history")
			sum := func() int64 {
				return harness.Number(t, tw.Direct, "SELECT COALESCE(SUM(likes * likes + stock * stock), 0) FROM post_history")
			}
			before := sum()
			_, err = tw.Ours.Exec(stmt)
			require.NoError(t, err)
			harness.RollUp(t, tw.Ours)
			require.Equal(t, writes, sum() != before, stmt)
			require.Equal(t, writes, told, "%s\n%s", stmt, e)
		}
	})
}
