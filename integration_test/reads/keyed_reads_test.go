package reads

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestKeyedReadsLockRows proves that a transaction which reads a counter by its key, and
// so that the server would lock what it reads with shared locks, keeps increments of
// that row waiting and no others, and has no deadlock with them when it writes the row.
func TestKeyedReadsLockRows(t *testing.T) {
	const likeTwo, exact = "UPDATE post SET likes = likes + 1 WHERE id = 2", "UPDATE post SET likes = likes * 2 WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.BlogCounters()
		config.Slots = 1 // all come to the same one
		tw := harness.NewBlog(t, srv, config)
		for name, c := range map[string]struct {
			level sql.IsolationLevel
			reads []string
		}{
			"copied":                {sql.LevelRepeatableRead, []string{"INSERT INTO note SELECT 9, likes FROM post WHERE id = 1"}},
			"copied by another key": {sql.LevelRepeatableRead, []string{"INSERT INTO note SELECT 9, likes FROM post WHERE slug = 'a' AND likes > 3"}},
			"serializable":          {sql.LevelSerializable, []string{"SELECT likes FROM post WHERE id = 1"}},
			"unknown rows written":  {sql.LevelRepeatableRead, []string{"UPDATE post SET title = 'x' WHERE id IN (3, 77)", "SELECT likes FROM post WHERE id = 1"}},
		} {
			tw.Reset(t)
			harness.Affected(t, tw.Ours, harness.LikeOne)
			harness.Affected(t, tw.Ours, likeTwo)
			tx, err := tw.Ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: c.level})
			require.NoError(t, err)
			defer tx.Rollback()
			for _, stmt := range c.reads {
				if harness.IsQuery.MatchString(stmt) {
					require.EqualValues(t, 11, harness.Number(t, tx, stmt), name)
				} else {
					harness.Affected(t, tx, stmt)
				}
			}

			// the first increment is under way for so long that the others make a batch
			var first atomic.Bool
			tw.Sent.Meddle(t, func(query string) error {
				if harness.InsertsSlots.MatchString(query) && first.CompareAndSwap(false, true) {
					time.Sleep(100 * time.Millisecond)
				}
				return nil
			})
			leads := harness.Later(t, harness.Session(t, tw.Ours), likeTwo)
			time.Sleep(30 * time.Millisecond)
			waits, goes := harness.Later(t, harness.Session(t, tw.Ours), harness.LikeOne), harness.Later(t, harness.Session(t, tw.Ours), likeTwo)
			require.Equal(t, "affected 1", harness.Soon(t, leads), name)
			start := time.Now()
			require.Equal(t, "affected 1", harness.Soon(t, goes), name)
			require.Less(t, time.Since(start), 4*time.Second, name) // a lock is waited for for five
			ends := make(chan error, 1)
			go func() {
				ends <- harness.InTransaction(context.WithoutCancel(t.Context()), tw.Ours, sql.LevelDefault, []string{"INSERT INTO note VALUES (1, '')", harness.LikeOne})
			}()
			time.Sleep(100 * time.Millisecond)
			require.Empty(t, waits, name)
			require.Empty(t, ends, name)
			harness.Affected(t, tx, exact)
			require.NoError(t, tx.Commit(), name)
			require.Equal(t, "affected 1", harness.Soon(t, waits), name)
			require.NoError(t, <-ends, name)
			tw.Sent.Before.Store(nil)
			require.EqualValues(t, 24, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"), name)
			require.EqualValues(t, 12, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 2"), name)
		}
	})
}

// TestKeyedReadsOnly proves that who may not write, by READ ONLY or for want of a
// privilege, reads a counter by its key as on plain MySQL.
func TestKeyedReadsOnly(t *testing.T) {
	const copied, read = "INSERT INTO note SELECT 9, likes FROM post WHERE id = 1", "SELECT likes FROM post WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		harness.Affected(t, tw.Plain, harness.LikeOne)
		harness.Affected(t, tw.Ours, harness.LikeOne)
		user := fmt.Sprintf("itg_keyed_%d", os.Getpid())
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true})
			require.NoError(t, err)
			defer tx.Rollback()
			require.EqualValues(t, 11, harness.Number(t, tx, read))
			require.NoError(t, tx.Rollback())

			conn := harness.Session(t, db)
			for _, set := range []string{"SET autocommit = 0", "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET TRANSACTION READ ONLY"} {
				harness.Affected(t, conn, set)
			}
			require.EqualValues(t, 11, harness.Number(t, conn, read))
			harness.Affected(t, conn, "ROLLBACK")
			require.Equal(t, "error 1054", harness.Queried(t.Context(), conn, "SELECT likes, none FROM post WHERE id = 1"))
			harness.Affected(t, conn, "ROLLBACK")
			harness.Affected(t, conn, "SET autocommit = 1")

			reader := tw.WithoutWriting(t, user, db, "post")
			tx, err = reader.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
			require.NoError(t, err)
			defer tx.Rollback()
			require.EqualValues(t, 11, harness.Number(t, tx, read))
			require.EqualValues(t, 1, harness.Affected(t, tx, copied))
			require.EqualValues(t, 11, harness.Number(t, tx, "SELECT body FROM note WHERE id = 9"))
			require.NoError(t, tx.Rollback())
		}
	})
}
