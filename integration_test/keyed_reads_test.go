package integration_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestKeyedReadsLockRows proves that a transaction which reads a counter by its key, and
// so that the server would lock what it reads with shared locks, keeps increments of
// that row waiting and no others, and has no deadlock with them when it writes the row.
func TestKeyedReadsLockRows(t *testing.T) {
	const likeTwo, exact = "UPDATE post SET likes = likes + 1 WHERE id = 2", "UPDATE post SET likes = likes * 2 WHERE id = 1"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := blogCounters()
		config.Slots = 1 // all come to the same one
		tw := newBlog(t, srv, config)
		for name, c := range map[string]struct {
			level sql.IsolationLevel
			reads []string
		}{
			"copied":                {sql.LevelRepeatableRead, []string{"INSERT INTO note SELECT 9, likes FROM post WHERE id = 1"}},
			"copied by another key": {sql.LevelRepeatableRead, []string{"INSERT INTO note SELECT 9, likes FROM post WHERE slug = 'a' AND likes > 3"}},
			"serializable":          {sql.LevelSerializable, []string{"SELECT likes FROM post WHERE id = 1"}},
			"unknown rows written":  {sql.LevelRepeatableRead, []string{"UPDATE post SET title = 'x' WHERE id IN (3, 77)", "SELECT likes FROM post WHERE id = 1"}},
		} {
			tw.reset(t)
			affected(t, tw.ours, likeOne)
			affected(t, tw.ours, likeTwo)
			tx, err := tw.ours.BeginTx(t.Context(), &sql.TxOptions{Isolation: c.level})
			require.NoError(t, err)
			defer tx.Rollback()
			for _, stmt := range c.reads {
				if isQuery.MatchString(stmt) {
					require.EqualValues(t, 11, number(t, tx, stmt), name)
				} else {
					affected(t, tx, stmt)
				}
			}

			// the first increment is under way for so long that the others make a batch
			var first atomic.Bool
			tw.sent.meddle(t, func(query string) error {
				if insertsSlots.MatchString(query) && first.CompareAndSwap(false, true) {
					time.Sleep(100 * time.Millisecond)
				}
				return nil
			})
			leads := later(t, session(t, tw.ours), likeTwo)
			time.Sleep(30 * time.Millisecond)
			waits, goes := later(t, session(t, tw.ours), likeOne), later(t, session(t, tw.ours), likeTwo)
			require.Equal(t, "affected 1", soon(t, leads), name)
			start := time.Now()
			require.Equal(t, "affected 1", soon(t, goes), name)
			require.Less(t, time.Since(start), 4*time.Second, name) // a lock is waited for for five
			ends := make(chan error, 1)
			go func() {
				ends <- inTransaction(context.WithoutCancel(t.Context()), tw.ours, sql.LevelDefault, []string{"INSERT INTO note VALUES (1, '')", likeOne})
			}()
			time.Sleep(100 * time.Millisecond)
			require.Empty(t, waits, name)
			require.Empty(t, ends, name)
			affected(t, tx, exact)
			require.NoError(t, tx.Commit(), name)
			require.Equal(t, "affected 1", soon(t, waits), name)
			require.NoError(t, <-ends, name)
			tw.sent.before.Store(nil)
			require.EqualValues(t, 24, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"), name)
			require.EqualValues(t, 12, number(t, tw.ours, "SELECT likes FROM post WHERE id = 2"), name)
		}
	})
}

// TestKeyedReadsOnly proves that who may not write, by READ ONLY or for want of a
// privilege, reads a counter by its key as on plain MySQL.
func TestKeyedReadsOnly(t *testing.T) {
	const copied, read = "INSERT INTO note SELECT 9, likes FROM post WHERE id = 1", "SELECT likes FROM post WHERE id = 1"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		affected(t, tw.plain, likeOne)
		affected(t, tw.ours, likeOne)
		user := fmt.Sprintf("itg_keyed_%d", os.Getpid())
		for _, db := range []*sql.DB{tw.plain, tw.ours} {
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true})
			require.NoError(t, err)
			defer tx.Rollback()
			require.EqualValues(t, 11, number(t, tx, read))
			require.NoError(t, tx.Rollback())

			conn := session(t, db)
			for _, set := range []string{"SET autocommit = 0", "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET TRANSACTION READ ONLY"} {
				affected(t, conn, set)
			}
			require.EqualValues(t, 11, number(t, conn, read))
			affected(t, conn, "ROLLBACK")
			require.Equal(t, "error 1054", queried(t.Context(), conn, "SELECT likes, none FROM post WHERE id = 1"))
			if !mariaDB(srv) { // where also a query that makes no sense begins a transaction
				affected(t, conn, "SET TRANSACTION READ ONLY")
			}
			affected(t, conn, "ROLLBACK")
			affected(t, conn, "SET autocommit = 1")

			reader := tw.withoutWriting(t, user, db, "post")
			tx, err = reader.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
			require.NoError(t, err)
			defer tx.Rollback()
			require.EqualValues(t, 11, number(t, tx, read))
			require.EqualValues(t, 1, affected(t, tx, copied))
			require.EqualValues(t, 11, number(t, tx, "SELECT body FROM note WHERE id = 9"))
			require.NoError(t, tx.Rollback())
		}
	})
}
