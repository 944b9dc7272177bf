package groups

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDeadlockOfIncrementsAlone proves that a transaction of nothing but increments,
// which the server rolls back in a deadlock while it is committed, is sent again as a
// whole: as increments outside transactions are.
func TestDeadlockOfIncrementsAlone(t *testing.T) {
	const both = "SELECT likes + (SELECT hits FROM page WHERE day = '2026-01-02' AND name = 'home') FROM post WHERE id = 1"
	const hit = "UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'home'"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		before := harness.Number(t, tw.Ours, both)
		for _, c := range []struct {
			name     string
			failures []uint16 // of the statements that write slots, one after the other
			want     int
		}{
			{"the first table", []uint16{1213}, 0},
			{"the second table", []uint16{0, 1213}, 0},
			{"both, twice", []uint16{1213, 0, 1213}, 0},
			{"another error", []uint16{0, 1205}, 1205},
			{"again and again", []uint16{1213, 1213, 1213, 1213, 1213, 1213, 1213, 1213, 1213, 1213, 1213}, 1213},
		} {
			tx, err := tw.Ours.Begin()
			require.NoError(t, err)
			defer tx.Rollback()
			harness.Affected(t, tx, harness.LikeOne)
			harness.Affected(t, tx, hit)
			left := c.failures
			tw.Sent.Meddle(t, func(query string) error {
				if !harness.InsertsSlots.MatchString(query) || len(left) == 0 {
					return nil
				}
				n := left[0]
				left = left[1:]
				if n == 0 {
					return nil
				}
				return &mysql.MySQLError{Number: n, Message: "made by the test"}
			})
			require.Equal(t, c.want, harness.ErrorNumber(tx.Commit()), c.name)
			tw.Sent.Before.Store(nil)
			if c.want == 0 {
				before += 2
			}
			require.Equal(t, before, harness.Number(t, tw.Ours, both), c.name)
			require.Zero(t, harness.Stats(t, tw.Ours).Pending, c.name)
		}

		other, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer other.Rollback()
		for id := 100; id < 150; id++ { // so much that ours is the victim
			harness.Affected(t, other, "INSERT INTO note VALUES (?, '')", id)
		}
		harness.Number(t, other, "SELECT likes FROM post WHERE id = 1 FOR UPDATE")
		tx, err := tw.Ours.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		harness.Affected(t, tx, harness.LikeOne)
		harness.Affected(t, tx, hit)
		committed := make(chan error, 1)
		go func() { committed <- tx.Commit() }()
		require.Eventually(t, func() bool {
			return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'INSERT INTO%' AND COMMAND <> 'Sleep'") > 0
		}, 5*time.Second, 10*time.Millisecond)
		time.Sleep(50 * time.Millisecond)
		harness.Number(t, other, "SELECT hits FROM page WHERE day = '2026-01-02' AND name = 'home' FOR UPDATE")
		require.NoError(t, other.Rollback())
		require.NoError(t, <-committed)
		require.Equal(t, before+2, harness.Number(t, tw.Ours, both))
	})
}

// TestDeadlockOfGuarded proves that a statement outside transactions which runs in one
// round trip, as its row has no slots, is sent again after a deadlock, as the others are.
func TestDeadlockOfGuarded(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		harness.Affected(t, tw.Direct, "DELETE FROM post_slots")
		before, failed := harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"), false
		tw.Sent.Meddle(t, func(query string) error {
			if failed || !strings.HasPrefix(query, "UPDATE") {
				return nil
			}
			failed = true
			return &mysql.MySQLError{Number: 1213, Message: "made by the test"}
		})
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1"))
		require.True(t, failed)
		require.Equal(t, before-1, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestDeadlockOfVerbatim proves that a statement outside transactions which goes to the
// server as it is, or cleans up what is left under the key of its row, is sent again after
// a deadlock, and that one inside a transaction, which is over then, is not.
func TestDeadlockOfVerbatim(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (77, 0, 5)")
		var left int
		var what string
		tw.Sent.Meddle(t, func(query string) error {
			if left == 0 || !strings.HasPrefix(query, what) {
				return nil
			}
			left--
			return &mysql.MySQLError{Number: 1213, Message: "made by the test"}
		})
		fails := func(times int, begins string) { left, what = times, begins }

		fails(2, "UPDATE post SET title")
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE post SET title = 'again' WHERE id = 1"))
		require.Zero(t, left)
		fails(1, "DELETE `")
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "INSERT INTO post (id, slug, title, likes) VALUES (77, 'slug', '', 1)"))
		require.Zero(t, left)
		require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 77"))

		tx, err := tw.Ours.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		fails(1, "UPDATE post SET title")
		_, err = tx.Exec("UPDATE post SET title = 'once' WHERE id = 1")
		require.Equal(t, 1213, harness.ErrorNumber(err))
	})
}

// TestEditsBesideTouches proves that edits outside transactions never fail for a
// deadlock beside transactions whose increments find a touch column later than theirs.
func TestEditsBesideTouches(t *testing.T) {
	const schema = `
CREATE TABLE u (id INT PRIMARY KEY, r INT NOT NULL DEFAULT 0, x INT NOT NULL DEFAULT 0, updated_at DATETIME NULL);
CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, u INT);
INSERT INTO u (id) VALUES (1), (2), (3), (4), (5);
`
	config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "u", Counters: []string{"r"}, Touch: []string{"updated_at"}}}}
	second := func(after time.Duration) string {
		return time.Now().UTC().Add(after).Format(time.DateTime)
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, config)
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			var edits, increments harness.Crowd
			var added atomic.Int64
			end := time.Now().Add(2 * time.Second)
			edits.Run(16, func(client int) {
				for time.Now().Before(end) {
					row := 1 + rand.N(5)
					if client%2 == 0 {
						_, err := db.ExecContext(t.Context(), fmt.Sprintf("UPDATE u SET x = x + 1, updated_at = '%s' WHERE id = %d", second(time.Second), row))
						edits.Check(err)
						continue
					}
					body := []string{
						fmt.Sprintf("UPDATE u SET updated_at = '%s', r = r + 1 WHERE id = %d", second(0), row), "INSERT INTO log (u) VALUES (1)",
						fmt.Sprintf("UPDATE u SET updated_at = '%s', r = r + 1 WHERE id = %d", second(0), 1+rand.N(5)),
					}
					if increments.Check(harness.InTransaction(t.Context(), db, sql.LevelRepeatableRead, body)) {
						added.Add(2)
					}
				}
			})
			edits.NoDeadlocks(t)
			require.Nil(t, increments.Failed.Load())
			require.Equal(t, added.Load(), harness.Number(t, db, "SELECT SUM(r) FROM u"))
		}
	})
}
