package integration_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		for _, alter := range []string{"ALTER TABLE post ADD COLUMN extra INT", "ALTER TABLE post DROP COLUMN extra"} {
			var answers [2][]string
			for i, db := range []*sql.DB{tw.plain, tw.ours} {
				conn := session(t, db)
				affected(t, conn, "BEGIN")
				affected(t, conn, "UPDATE post SET title = 'held' WHERE id = 3")
				altered := make(chan error, 1)
				go func() {
					_, err := tw.directTo(db).ExecContext(context.WithoutCancel(t.Context()), alter)
					altered <- err
				}()
				require.Eventually(t, func() bool {
					return number(t, tw.directTo(db), "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE '%metadata lock%'") > 0
				}, 5*time.Second, 20*time.Millisecond, "the ALTER does not wait")
				for _, stmt := range statements {
					ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
					if isQuery.MatchString(stmt) {
						// types are looked up on another connection: there they are those of the sum
						answers[i] = append(answers[i], stmt+" → "+strings.ReplaceAll(queried(ctx, conn, stmt), "likes BIGINT", "likes INT"))
					} else {
						res, err := conn.ExecContext(ctx, stmt)
						answers[i] = append(answers[i], stmt+" → "+told(err))
						if err == nil {
							n, _ := res.RowsAffected()
							answers[i] = append(answers[i], string(rune('0'+n)))
						}
					}
					cancel()
				}
				affected(t, conn, "COMMIT")
				require.NoError(t, <-altered)
				answers[i] = append(answers[i], queried(t.Context(), db, "SELECT id, likes, title FROM post ORDER BY id"))
			}
			require.Equal(t, answers[0], answers[1])
		}
	})
}

// TestFewConnections proves that a pool of one connection, and as many
// transactions at once as there are look-up connections and more, do not wait
// for each other for ever.
func TestFewConnections(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		tw.ours.SetMaxOpenConns(1)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for range 3 {
			tx, err := tw.ours.BeginTx(ctx, nil)
			require.NoError(t, err)
			affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			number(t, tx, "SELECT likes FROM post WHERE id = 1")
			affected(t, tx, "UPDATE post SET likes = GREATEST(likes, 0) WHERE id = 1")
			require.NoError(t, tx.Commit())
		}
		require.EqualValues(t, 13, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))

		tw.ours.SetMaxOpenConns(0)
		var all []*sql.Tx // all open at once
		for range 30 {
			tx, err := tw.ours.BeginTx(ctx, nil)
			require.NoError(t, err)
			all = append(all, tx)
			affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)")
		}
		for _, tx := range all {
			require.NoError(t, tx.Commit())
		}
		require.EqualValues(t, 43, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))
	})
}
