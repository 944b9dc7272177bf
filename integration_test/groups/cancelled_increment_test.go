package groups

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCancelledInside proves that a transaction in which a context has ended a statement
// does not commit without it, even if nothing of it was under way on the transaction's own
// connection: the look-up of its rows was waiting for a table that somebody had locked.
func TestCancelledInside(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct{ before, cancelled string }{
			{"INSERT INTO note VALUES (1, '')", "UPDATE post SET likes = likes + 100 WHERE slug = 'a'"},
			{"UPDATE page SET hits = hits + 1 WHERE day = '2026-01-01' AND name = 'home'", "UPDATE post SET likes = likes + 100 WHERE slug = 'a'"},
			{"INSERT INTO note VALUES (1, '')", "UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE slug = 'a'"},
		} {
			for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
				tw := harness.NewBlog(t, srv, harness.BlogCounters()) // others' locks may stay a moment longer than their connections
				for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
					locks := harness.Session(t, tw.DirectTo(db))
					tx, err := db.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					harness.Affected(t, tx, c.before)
					harness.Affected(t, locks, "LOCK TABLES post WRITE")
					ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
					_, err = tx.ExecContext(ctx, c.cancelled)
					cancel()
					require.ErrorIs(t, err, context.DeadlineExceeded)
					harness.Affected(t, locks, "UNLOCK TABLES")
					require.ErrorIs(t, end(tx), context.DeadlineExceeded, "%v", c)
					require.NoError(t, locks.Close())
					require.Equal(t, "COUNT(*) BIGINT, [0]", harness.Queried(t.Context(), db, "SELECT COUNT(*) FROM note"))
				}
				for _, query := range []string{"SELECT * FROM post ORDER BY id", "SELECT * FROM page ORDER BY day, name"} {
					tw.Same(t, query)
				}
			}
		}
	})
}

// TestEndedContext proves that a statement whose context has ended before it leaves the
// transaction as it is.
func TestEndedContext(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, stmt := range []string{"UPDATE post SET likes = likes + 100 WHERE id = 1", "UPDATE post SET likes = GREATEST(likes - 1, 0) WHERE id = 1", "SELECT likes FROM post"} {
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				conn := harness.Session(t, db)
				for _, text := range []string{"BEGIN", "INSERT INTO note VALUES (1, '')", "UPDATE post SET likes = likes + 1 WHERE id = 1"} {
					harness.Affected(t, conn, text)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := conn.ExecContext(ctx, stmt)
				require.ErrorIs(t, err, context.Canceled)
				harness.Affected(t, conn, "COMMIT")
				harness.Affected(t, conn, "DELETE FROM note")
			}
			tw.Same(t, "SELECT * FROM post ORDER BY id")
		}
	})
}

// TestCancelledWithLimit proves that a session whose context ends while a query of the
// driver's runs without the application's sql_select_limit has it again.
func TestCancelledWithLimit(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		conn := harness.Session(t, tw.Ours)
		harness.Affected(t, conn, "SET sql_select_limit = 1")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tw.Sent.Meddle(t, func(query string) error {
			if query == "SET sql_select_limit = 1" {
				cancel()
			}
			return nil
		})
		_, err := conn.ExecContext(ctx, "UPDATE post SET likes = likes * 2 WHERE title <> 'x'")
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, "id INT, [1]", harness.Queried(t.Context(), conn, "SELECT id FROM post ORDER BY id"))
	})
}

// holding holds up the first statements that it matches, each until it is let go.
type holding struct{ reached, opened []chan struct{} }

func newHolding(t *testing.T, r *harness.Recorder, n int, holds func(query string) bool) *holding {
	h := &holding{}
	for range n {
		h.reached, h.opened = append(h.reached, make(chan struct{})), append(h.opened, make(chan struct{}))
	}
	var came atomic.Int32
	t.Cleanup(func() {
		for _, c := range h.opened {
			select {
			case <-c:
			default:
				close(c)
			}
		}
	})
	r.Meddle(t, func(query string) error {
		if !holds(query) {
			return nil
		}
		if i := int(came.Add(1)) - 1; i < n {
			close(h.reached[i])
			<-h.opened[i]
		}
		return nil
	})
	return h
}

// TestLeaderLeaves proves that a caller whose context ends while its connection sends what
// others wait for as well returns at once, as it would by itself; that those get their
// answers; and that nobody uses the connection meanwhile, or afterwards.
func TestLeaderLeaves(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{{"interpolateParams=true"}, nil} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params...)
			leads := harness.Session(t, tw.Ours)
			prepared, err := leads.PrepareContext(t.Context(), "UPDATE post SET likes = likes + ? WHERE id = ?")
			require.NoError(t, err)
			h := newHolding(t, tw.Sent, 2, harness.WritesSlots.MatchString)
			first := harness.Later(t, tw.Ours, harness.LikeOne)
			<-h.reached[0]
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan string, 1)
			go func() {
				_, err := prepared.ExecContext(ctx, 1, 1)
				left <- harness.Told(err)
			}()
			harness.Queue()
			follows := harness.Later(t, tw.Ours, harness.LikeOne)
			harness.Queue()
			close(h.opened[0])
			require.Equal(t, "affected 1", harness.Soon(t, first))
			<-h.reached[1]
			at := time.Now()
			cancel()
			require.Equal(t, context.Canceled.Error(), harness.Soon(t, left))
			require.Less(t, time.Since(at), time.Second)
			_, err = prepared.ExecContext(t.Context(), 1, 1)
			require.ErrorIs(t, err, sql.ErrConnDone) // as on a connection that the context has closed
			_, err = leads.ExecContext(t.Context(), harness.LikeOne)
			require.ErrorIs(t, err, sql.ErrConnDone)
			_ = prepared.Close()
			_ = leads.Close()
			require.Empty(t, follows)
			close(h.opened[1])
			require.Equal(t, "affected 1", harness.Soon(t, follows))
			require.EqualValues(t, 13, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
			require.EqualValues(t, 1, harness.Affected(t, tw.Ours, harness.LikeOne))
		}
	})
}

// TestLeaderLeavesLookups proves the same of a caller that looks rows up for others as
// well. Its transaction does not commit without the increment.
func TestLeaderLeavesLookups(t *testing.T) {
	t.Parallel()
	looks := func(query string) bool { return strings.Contains(query, "COALESCE(FALSE, 0)") }
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, before := range []string{"UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'home'", "INSERT INTO note VALUES (1, '')"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters())
			var all []*sql.Tx
			for range 3 {
				tx, err := tw.Ours.Begin()
				require.NoError(t, err)
				t.Cleanup(func() { _ = tx.Rollback() }) // behind what is held up
				all = append(all, tx)
			}
			harness.Affected(t, all[1], before)
			h := newHolding(t, tw.Sent, 2, looks)
			first := harness.Later(t, all[0], harness.LikeOne)
			<-h.reached[0]
			ctx, cancel := context.WithCancel(t.Context())
			left := make(chan string, 1)
			go func() {
				_, err := all[1].ExecContext(ctx, "UPDATE post SET likes = likes + 1 WHERE slug = 'a'") // by its id it would not look before it is asked
				left <- harness.Told(err)
			}()
			harness.Queue()
			follows := harness.Later(t, all[2], "UPDATE post SET likes = likes + 1 WHERE id = 2")
			harness.Queue()
			close(h.opened[0])
			require.Equal(t, "affected 1", harness.Soon(t, first))
			<-h.reached[1]
			at := time.Now()
			cancel()
			require.Equal(t, context.Canceled.Error(), harness.Soon(t, left))
			require.Less(t, time.Since(at), time.Second)
			require.ErrorIs(t, all[1].Commit(), context.Canceled)
			require.Empty(t, follows)
			close(h.opened[1])
			require.Equal(t, "affected 1", harness.Soon(t, follows))
			require.NoError(t, all[0].Commit())
			require.NoError(t, all[2].Commit())
			require.Equal(t, "id INT, likes INT, [1 11][2 10][3 0]", harness.Queried(t.Context(), tw.Ours, "SELECT id, likes FROM post ORDER BY id"))
			require.EqualValues(t, 3, harness.Number(t, tw.Ours, "SELECT SUM(hits) FROM page"))
			require.Zero(t, harness.Number(t, tw.Ours, "SELECT COUNT(*) FROM note"))
		}
	})
}
