package groups

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAlterWaits proves that a transaction goes on while an ALTER TABLE of
// another client waits for it: look-ups on other connections would wait for the
// ALTER, and so for themselves.
func TestAlterWaits(t *testing.T) {
	t.Parallel()
	statements := []string{
		"UPDATE post SET likes = likes + 1 WHERE id = 1",
		"UPDATE post SET likes = likes + 1 WHERE slug = 'b'",
		"UPDATE post SET likes = likes + 1 WHERE id = 77",
		"SELECT likes FROM post WHERE id = 1",
		"UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 2",
		"INSERT INTO post (id, slug) VALUES (10, 'j')",
		"DELETE FROM post WHERE id = 10",
		"SELECT id, likes, title FROM post ORDER BY id",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, alter := range []string{"ALTER TABLE post ADD COLUMN extra INT", "ALTER TABLE post DROP COLUMN extra"} {
			var answers [2][]string
			for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
				conn := harness.Session(t, db)
				harness.Affected(t, conn, "BEGIN")
				harness.Affected(t, conn, "UPDATE post SET title = 'held' WHERE id = 3")
				altered := make(chan error, 1)
				go func() {
					_, err := tw.DirectTo(db).ExecContext(context.WithoutCancel(t.Context()), alter)
					altered <- err
				}()
				require.Eventually(t, func() bool {
					return harness.Number(t, tw.DirectTo(db), "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE '%metadata lock%'") > 0
				}, 5*time.Second, 20*time.Millisecond, "the ALTER does not wait")
				for _, stmt := range statements {
					ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
					if harness.IsQuery.MatchString(stmt) {
						// types are looked up on another connection: there they are those of the sum
						answers[i] = append(answers[i], stmt+" → "+strings.ReplaceAll(harness.Queried(ctx, conn, stmt), "likes BIGINT", "likes INT"))
					} else {
						res, err := conn.ExecContext(ctx, stmt)
						answers[i] = append(answers[i], stmt+" → "+harness.Told(err))
						if err == nil {
							n, _ := res.RowsAffected()
							answers[i] = append(answers[i], string(rune('0'+n)))
						}
					}
					cancel()
				}
				harness.Affected(t, conn, "COMMIT")
				require.NoError(t, <-altered)
				answers[i] = append(answers[i], harness.Queried(t.Context(), db, "SELECT id, likes, title FROM post ORDER BY id"))
			}
			require.Equal(t, answers[0], answers[1])
		}
	})
}

// TestLookupsBehindAlter proves that the look-up of a transaction for which an ALTER
// waits does not go with those of transactions that wait behind the ALTER.
func TestLookupsBehindAlter(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Ours.SetMaxIdleConns(3)
		var ready []*sql.Conn
		for range 3 { // so that nobody comes late for want of a connection
			conn, err := tw.Ours.Conn(t.Context())
			require.NoError(t, err)
			ready = append(ready, conn)
		}
		for _, conn := range ready {
			require.NoError(t, conn.Close())
		}
		holder, err := tw.Ours.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer holder.Rollback()
		harness.Affected(t, holder, "UPDATE post SET title = 'held' WHERE id = 3")
		altered, liked := make(chan error, 1), make(chan error, 3)
		waiting := func() int64 {
			return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE '%metadata lock%'")
		}
		go func() {
			_, err := tw.Direct.ExecContext(context.WithoutCancel(t.Context()), "ALTER TABLE post ADD COLUMN extra INT")
			altered <- err
		}()
		require.Eventually(t, func() bool { return waiting() == 1 }, 5*time.Second, 10*time.Millisecond, "the ALTER does not wait")
		like := func() {
			liked <- harness.InTransaction(context.WithoutCancel(t.Context()), tw.Ours, sql.LevelDefault, []string{harness.LikeOne})
		}
		go like() // it waits behind the ALTER, as on plain MySQL
		require.Eventually(t, func() bool { return waiting() >= 2 }, 5*time.Second, 5*time.Millisecond)
		go like() // leads what comes after it
		time.Sleep(50 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err = holder.ExecContext(ctx, harness.LikeOne)
		require.NoError(t, err, "it waits for those that wait for it")
		require.NoError(t, holder.Commit())
		for _, done := range []chan error{altered, liked, liked} {
			require.NoError(t, <-done)
		}
		require.EqualValues(t, 3, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1")-harness.Number(t, tw.Plain, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestFewConnections proves that a pool of one connection, and as many
// transactions at once as there are look-up connections and more, do not wait
// for each other for ever.
func TestFewConnections(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Ours.SetMaxOpenConns(1)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for range 3 {
			tx, err := tw.Ours.BeginTx(ctx, nil)
			require.NoError(t, err)
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			harness.Number(t, tx, "SELECT likes FROM post WHERE id = 1")
			harness.Affected(t, tx, "UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1")
			require.NoError(t, tx.Commit())
		}
		require.EqualValues(t, 13, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))

		tw.Ours.SetMaxOpenConns(0)
		var all []*sql.Tx // all open at once
		for range 30 {
			tx, err := tw.Ours.BeginTx(ctx, nil)
			require.NoError(t, err)
			all = append(all, tx)
			harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)")
		}
		for _, tx := range all {
			require.NoError(t, tx.Commit())
		}
		require.EqualValues(t, 43, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}
