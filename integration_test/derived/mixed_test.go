package derived

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestMixed proves that counters of all kinds are exact side by side, and so are their
// histories: posts have likes, which go to slots, and derived counters; comments, which the
// formulas count, have buffered likes.
func TestMixed(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := posts()
		config.Rollup = 2 * time.Second
		config.Tables[0].History = &countermysql.History{Every: time.Minute}
		config.Tables = append(config.Tables, countermysql.TableConfig{Table: "comment", Counters: []string{"likes"},
			Buffered: &countermysql.Buffered{Every: 50 * time.Millisecond}, History: &countermysql.History{Every: time.Minute}})
		tw := harness.NewTwin(t, srv, schema+";\nALTER TABLE comment ADD likes INT NOT NULL DEFAULT 0", config)
		sum := func(query string) (n float64) {
			t.Helper()
			require.NoError(t, tw.Direct.QueryRow("SELECT COALESCE(SUM("+query).Scan(&n), query)
			return n
		}
		before := map[string]float64{} // Init makes histories first: what it sets counters to is a change
		for _, counter := range []string{"likes", "comments", "earned"} {
			before[counter] = sum(counter + "), 0) FROM post")
		}
		initialized(t, tw.Ours)
		require.Empty(t, problems(t, tw))
		const like = "UPDATE comment SET likes = likes + 1 WHERE id = ?"
		var told, likes atomic.Int64
		buffered := func() int64 {
			for _, b := range harness.Stats(t, tw.Ours).Buffered {
				return b.Acknowledged
			}
			return 0
		}
		require.Eventually(t, func() bool { told.Add(harness.Affected(t, tw.Ours, like, 2)); return buffered() > 0 }, 30*time.Second, 20*time.Millisecond)

		end := time.Now().Add(4 * time.Second)
		var crowd harness.Crowd
		crowd.Run(12, func(i int) {
			r := rand.New(rand.NewPCG(uint64(i), 2))
			for time.Now().Before(end) {
				res, err := tw.Ours.Exec(like, 1+r.IntN(3))
				if crowd.Check(err) {
					n, _ := res.RowsAffected()
					told.Add(n)
				}
				id := 1 + r.IntN(5)
				if _, err := tw.Ours.Exec("UPDATE post SET likes = likes + 1 WHERE id = ?", id); crowd.Check(err) {
					likes.Add(1)
				}
				db := []*sql.DB{tw.Ours, tw.Direct}[i%2]
				tx, err := db.Begin()
				if !crowd.Check(err) {
					return
				}
				for _, stmt := range []string{
					fmt.Sprintf("INSERT INTO comment (post_id, amount) VALUES (%d, %d)", id, r.IntN(9)),
					fmt.Sprintf("UPDATE comment SET post_id = %d, amount = amount + 0.25 WHERE post_id = %d AND id > 4 ORDER BY id DESC LIMIT 1", 1+r.IntN(5), id),
					fmt.Sprintf("DELETE FROM comment WHERE post_id = %d AND id > 4 AND MOD(id, 7) = 0 LIMIT 1", id),
					fmt.Sprintf("UPDATE post SET title = CONCAT(comments, ' of %d') WHERE id = %[1]d", id),
				}[:1+r.IntN(4)] {
					if db == tw.Direct && stmt[7:11] == "post" {
						continue // another client reads what the base row has
					}
					if _, err = tx.Exec(stmt); err != nil {
						break
					}
				}
				if crowd.Check(err) && r.IntN(5) > 0 {
					crowd.Check(tx.Commit())
				} else {
					_ = tx.Rollback()
				}
			}
		})
		require.Nil(t, crowd.Failed.Load())
		t.Logf("%d likes of posts, %d of comments, %d deadlocks", likes.Load(), told.Load(), crowd.Deadlocks.Load())
		require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		requireExact(t, tw)
		for range 2 { // a row that a cold increment folds may be busy
			harness.RollUp(t, tw.Ours)
		}
		require.Zero(t, sum("1), 0) FROM post_slots")+sum("1), 0) FROM comment_slots"))
		requireExact(t, tw)
		require.EqualValues(t, told.Load(), sum("likes), 0) FROM comment"))
		require.EqualValues(t, told.Load(), sum("likes), 0) FROM comment_history"))
		require.EqualValues(t, likes.Load(), sum("likes), 0) FROM post")-before["likes"])
		for counter, n := range before {
			require.InDelta(t, sum(counter+"), 0) FROM post")-n, sum(counter+"), 0) FROM post_history"), 1e-6, counter)
		}
		require.Empty(t, problems(t, tw))
	})
}
