package integration_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCancelledInside proves that a transaction in which a context has ended a statement
// does not commit without it, even if nothing of it was under way on the transaction's own
// connection: the look-up of its rows was waiting for a table that somebody had locked.
func TestCancelledInside(t *testing.T) {
	t.Parallel()
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct{ before, cancelled string }{
			{"INSERT INTO note VALUES (1, '')", "UPDATE post SET likes = likes + 100 WHERE id = 1"},
			{"UPDATE page SET hits = hits + 1 WHERE day = '2026-01-01' AND name = 'home'", "UPDATE post SET likes = likes + 100 WHERE id = 1"},
			{"INSERT INTO note VALUES (1, '')", "UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE slug = 'a'"},
		} {
			for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
				tw := newBlog(t, srv, blogCounters()) // others' locks may stay a moment longer than their connections
				for _, db := range []*sql.DB{tw.plain, tw.ours} {
					locks := session(t, tw.directTo(db))
					tx, err := db.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					affected(t, tx, c.before)
					affected(t, locks, "LOCK TABLES post WRITE")
					ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
					_, err = tx.ExecContext(ctx, c.cancelled)
					cancel()
					require.ErrorIs(t, err, context.DeadlineExceeded)
					affected(t, locks, "UNLOCK TABLES")
					require.ErrorIs(t, end(tx), context.DeadlineExceeded, "%v", c)
					require.NoError(t, locks.Close())
					require.Equal(t, "COUNT(*) BIGINT, [0]", queried(t.Context(), db, "SELECT COUNT(*) FROM note"))
				}
				for _, query := range []string{"SELECT * FROM post ORDER BY id", "SELECT * FROM page ORDER BY day, name"} {
					tw.same(t, query)
				}
			}
		}
	})
}

// TestEndedContext proves that a statement whose context has ended before it leaves the
// transaction as it is.
func TestEndedContext(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		for _, stmt := range []string{"UPDATE post SET likes = likes + 100 WHERE id = 1", "UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1", "SELECT likes FROM post"} {
			for _, db := range []*sql.DB{tw.plain, tw.ours} {
				conn := session(t, db)
				for _, text := range []string{"BEGIN", "INSERT INTO note VALUES (1, '')", "UPDATE post SET likes = likes + 1 WHERE id = 1"} {
					affected(t, conn, text)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := conn.ExecContext(ctx, stmt)
				require.ErrorIs(t, err, context.Canceled)
				affected(t, conn, "COMMIT")
				affected(t, conn, "DELETE FROM note")
			}
			tw.same(t, "SELECT * FROM post ORDER BY id")
		}
	})
}

// TestCancelledWithLimit proves that a session whose context ends while a query of the
// driver's runs without the application's sql_select_limit has it again.
func TestCancelledWithLimit(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		conn := session(t, tw.ours)
		affected(t, conn, "SET sql_select_limit = 1")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tw.sent.meddle(t, func(query string) error {
			if query == "SET sql_select_limit = 1" {
				cancel()
			}
			return nil
		})
		_, err := conn.ExecContext(ctx, "UPDATE post SET likes = likes * 2 WHERE title <> 'x'")
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, "id INT, [1]", queried(t.Context(), conn, "SELECT id FROM post ORDER BY id"))
	})
}
