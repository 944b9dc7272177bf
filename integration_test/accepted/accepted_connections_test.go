package accepted

import (
	"database/sql"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedPool pins that a connection which goes back to the pool inside a
// transaction begun by text is closed, where go-sql-driver hands the open
// transaction to the next user. With autocommit off a session is always in one:
// then it is closed if increments are pending.
func TestAcceptedPool(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, c := range []struct {
			begin, write string
			closed       bool
		}{
			{"BEGIN", "INSERT INTO note VALUES (1, '')", true},
			{"BEGIN", harness.LikeOne, true},
			{"SET autocommit = 0", harness.LikeOne, true},
			{"SET autocommit = 0", "INSERT INTO note VALUES (1, '')", false},
		} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters())
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				db.SetMaxOpenConns(1)
				conn, err := db.Conn(t.Context())
				require.NoError(t, err)
				first := harness.Number(t, conn, "SELECT CONNECTION_ID()")
				harness.Affected(t, conn, c.begin)
				require.EqualValues(t, 1, harness.Affected(t, conn, c.write))
				require.NoError(t, conn.Close())
				next := harness.Number(t, db, "SELECT CONNECTION_ID()")
				seen := harness.Number(t, db, "SELECT (SELECT COUNT(*) FROM note) + (SELECT likes FROM post WHERE id = 1)")
				if db == tw.Ours && c.closed {
					require.NotEqual(t, first, next, "%v", c)
					require.EqualValues(t, 10, seen, "%v", c)
				} else {
					require.Equal(t, first, next, "%v", c)
					require.EqualValues(t, 11, seen, "%v", c)
				}
			}
		}
	})
}

// TestAcceptedLookups pins that a sql.DB has up to eight connections more, for
// look-ups.
func TestAcceptedLookups(t *testing.T) {
	const pool, clients, lookups = 20, 20, 8
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			db.SetMaxOpenConns(pool)
			db.SetMaxIdleConns(pool)
			direct := tw.DirectTo(db)
			var working sync.WaitGroup
			for id := range clients {
				working.Go(func() { // each of them needs a look-up: its transaction has a snapshot
					for range 10 {
						tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
						if err != nil {
							t.Error(err)
							return
						}
						_, err = tx.ExecContext(t.Context(), "INSERT INTO note VALUES (?, '')", id+100)
						if err == nil {
							_, err = tx.ExecContext(t.Context(), "UPDATE post SET likes = likes + 1 WHERE id = ?", id%3+1)
						}
						if err != nil {
							t.Error(err)
						}
						tx.Rollback()
					}
				})
			}
			working.Wait()
			open := harness.Number(t, direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()")
			if db == tw.Plain {
				require.LessOrEqual(t, open, int64(pool))
				continue
			}
			more := open - int64(db.Stats().OpenConnections)
			require.Positive(t, more)
			require.LessOrEqual(t, more, int64(lookups))
		}
	})
}

// TestAcceptedTemporaryTable pins that a temporary table hides the counter
// table of its name from its session, as on plain MySQL.
func TestAcceptedTemporaryTable(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Board, harness.Counters("post", "likes"))
		tw.Accepted(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
			"A: CREATE TEMPORARY TABLE post (id INT PRIMARY KEY, likes INT)", "A: INSERT INTO post VALUES (1, 7)",
			"A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT * FROM post",
			"B: UPDATE post SET likes = likes + 1 WHERE id = 1", "B: SELECT likes FROM post WHERE id = 1",
			"A: DROP TEMPORARY TABLE post", "A: SELECT likes FROM post WHERE id = 1")
	})
}

// TestAcceptedBeginOfPartition: an exact statement looks for its row in all partitions, and
// of a sum MySQL does not know that it can't be NULL.
func TestAcceptedBeginOfPartition(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0) PARTITION BY HASH (id) PARTITIONS 3;\nINSERT INTO post (id) VALUES (4)", harness.Counters("post", "likes"))
		set := "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
		tw.Play(t, "A: SET autocommit = 0", "A: UPDATE post PARTITION (p0, p2) SET likes = likes + 1 WHERE id = 4", set, "A: UPDATE post PARTITION (p1) SET likes = likes + 1 WHERE id = 4", set, "A: COMMIT")
		tw.Play(t, "A: UPDATE post PARTITION (p0, p2) SET likes = 0 WHERE id = 4", set, "A: COMMIT")
		if !harness.MariaDB(srv) {
			set += " ⇒ affected 0 ⇒ error 1568"
		}
		tw.Accepted(t, "A: SET autocommit = 0", "A: UPDATE post PARTITION (p0, p2) SET likes = likes * 2 WHERE id = 4", set, "A: COMMIT",
			"A: SELECT likes FROM post WHERE likes IS NULL", set, "A: COMMIT", "A: SELECT * FROM post")
	})
}
