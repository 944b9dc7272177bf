package integration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDeadlockOfIncrementsAlone proves that a transaction of nothing but increments,
// which the server rolls back in a deadlock while it is committed, is sent again as a
// whole: as increments outside transactions are.
func TestDeadlockOfIncrementsAlone(t *testing.T) {
	const both = "SELECT likes + (SELECT hits FROM page WHERE day = '2026-01-02' AND name = 'home') FROM post WHERE id = 1"
	const hit = "UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'home'"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		before := number(t, tw.ours, both)
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
			tx, err := tw.ours.Begin()
			require.NoError(t, err)
			defer tx.Rollback()
			affected(t, tx, likeOne)
			affected(t, tx, hit)
			left := c.failures
			tw.sent.meddle(t, func(query string) error {
				if !insertsSlots.MatchString(query) || len(left) == 0 {
					return nil
				}
				n := left[0]
				left = left[1:]
				if n == 0 {
					return nil
				}
				return &mysql.MySQLError{Number: n, Message: "made by the test"}
			})
			require.Equal(t, c.want, errorNumber(tx.Commit()), c.name)
			tw.sent.before.Store(nil)
			if c.want == 0 {
				before += 2
			}
			require.Equal(t, before, number(t, tw.ours, both), c.name)
			require.Zero(t, stats(t, tw.ours).Pending, c.name)
		}

		other, err := tw.direct.Begin()
		require.NoError(t, err)
		defer other.Rollback()
		for id := 100; id < 150; id++ { // so much that ours is the victim
			affected(t, other, "INSERT INTO note VALUES (?, '')", id)
		}
		number(t, other, "SELECT likes FROM post WHERE id = 1 FOR UPDATE")
		tx, err := tw.ours.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		affected(t, tx, likeOne)
		affected(t, tx, hit)
		committed := make(chan error, 1)
		go func() { committed <- tx.Commit() }()
		require.Eventually(t, func() bool {
			return number(t, tw.direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'INSERT INTO%' AND COMMAND <> 'Sleep'") > 0
		}, 5*time.Second, 10*time.Millisecond)
		time.Sleep(50 * time.Millisecond)
		number(t, other, "SELECT hits FROM page WHERE day = '2026-01-02' AND name = 'home' FOR UPDATE")
		require.NoError(t, other.Rollback())
		require.NoError(t, <-committed)
		require.Equal(t, before+2, number(t, tw.ours, both))
	})
}

// TestDeadlockOfGuarded proves that a statement outside transactions which runs in one
// round trip, as its row has no slots, is sent again after a deadlock, as the others are.
func TestDeadlockOfGuarded(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		affected(t, tw.direct, "DELETE FROM post_slots")
		before, failed := number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"), false
		tw.sent.meddle(t, func(query string) error {
			if failed || !strings.HasPrefix(query, "UPDATE") {
				return nil
			}
			failed = true
			return &mysql.MySQLError{Number: 1213, Message: "made by the test"}
		})
		require.EqualValues(t, 1, affected(t, tw.ours, "UPDATE post SET likes = likes - 1 WHERE id = 1 AND likes >= 1"))
		require.True(t, failed)
		require.Equal(t, before-1, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))
	})
}
