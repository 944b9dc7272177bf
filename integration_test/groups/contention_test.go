package groups

import (
	"context"
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

// TestOneHotRow proves that transactions that increment one row and do other
// things to the same row do not deadlock, as they do not on plain MySQL, where
// the increment has locked the row.
func TestOneHotRow(t *testing.T) {
	bodies := map[string][]string{
		"increment, then edit":                {"UPDATE hot SET n = n + 1 WHERE id = 10", "UPDATE hot SET title = 'x' WHERE id = 10"},
		"edit, then increment":                {"UPDATE hot SET title = 'x' WHERE id = 10", "UPDATE hot SET n = n + 1 WHERE id = 10"},
		"increment, then locking read":        {"UPDATE hot SET n = n + 1 WHERE id = 10", "SELECT n FROM hot WHERE id = 10 FOR UPDATE"},
		"increment, then read, then edit":     {"UPDATE hot SET n = n + 1 WHERE id = 10", "SELECT n FROM hot WHERE id = 10", "UPDATE hot SET title = 'x' WHERE id = 10"},
		"increment, then exact":               {"UPDATE hot SET n = n + 1 WHERE id = 10", "UPDATE hot SET n = GREATEST(n, 0) WHERE id = 10"},
		"locking read, then increment":        {"SELECT n FROM hot WHERE id = 10 FOR UPDATE", "UPDATE hot SET n = n + 1 WHERE id = 10"},
		"increment with an edit in one":       {"UPDATE hot SET n = n + 1, title = 'x' WHERE id = 10"},
		"increment, then edit, and savepoint": {"SAVEPOINT a", "UPDATE hot SET n = n + 1 WHERE id = 10", "SAVEPOINT b", "UPDATE hot SET title = 'x' WHERE id = 10", "RELEASE SAVEPOINT a"},
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewHot(t, srv, countermysql.ReadOwnLatest)
		for name, body := range bodies {
			for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
				t.Run(name+"/"+level.String(), func(t *testing.T) {
					const clients, transactions = 12, 8
					for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
						harness.Affected(t, db, "UPDATE hot SET n = 0")
						var c harness.Crowd
						c.Run(clients, func(int) {
							for range transactions {
								c.Check(harness.InTransaction(t.Context(), db, level, body))
							}
						})
						require.Zero(t, c.Deadlocks.Load(), "deadlocks, ours: %v", i == 1)
						c.NoDeadlocks(t)
						require.EqualValues(t, clients*transactions, harness.Number(t, db, "SELECT n FROM hot WHERE id = 10"))
					}
				})
			}
		}
	})
}

// TestNewRowsTheExactWay proves that statements which insert rows the exact way do
// not deadlock outside transactions, as they do not by themselves: both lock the
// place of their row before they fill it.
func TestNewRowsTheExactWay(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewHot(t, srv, countermysql.ReadOwnLatest)
		for i, stmt := range []string{
			"REPLACE INTO hot (id, n) VALUES (%d, 1)",
			"INSERT INTO hot (id, n) VALUES (%d, 1) ON DUPLICATE KEY UPDATE n = VALUES(n)",
			"INSERT INTO hot (id, n) VALUES (%d, 1) ON DUPLICATE KEY UPDATE n = GREATEST(n, 1)",
		} {
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				var c harness.Crowd
				c.Run(8, func(client int) {
					for row := range 25 {
						_, err := db.ExecContext(t.Context(), fmt.Sprintf(stmt, 1000*(10*(i+1)+client)+row))
						c.Check(err)
					}
				})
				c.NoDeadlocks(t)
			}
		}
		tw.Same(t, "SELECT COUNT(*), SUM(n) FROM hot")
	})
}

// TestManyKeys proves that statements that increment several keys at once, in
// any order and inside and outside transactions, neither deadlock nor lose.
func TestManyKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewHot(t, srv, countermysql.ReadOwnLatest)
		var c harness.Crowd
		var sum atomic.Int64
		c.Run(24, func(client int) {
			for range 25 {
				k := rand.Perm(8)
				text := fmt.Sprintf("UPDATE hot SET n = n + 1 WHERE id IN (%d, %d, %d)", 10+k[0]*10, 10+k[1]*10, 10+k[2]*10)
				if client%2 == 0 {
					res, err := tw.Ours.ExecContext(t.Context(), text)
					if c.Check(err) {
						n, _ := res.RowsAffected()
						sum.Add(n)
					}
				} else if c.Check(harness.InTransaction(t.Context(), tw.Ours, sql.LevelRepeatableRead, []string{text, fmt.Sprintf("UPDATE hot SET n = n + 2 WHERE id = %d", 10+k[3]*10)})) {
					sum.Add(5)
				}
			}
		}, func(i int) {
			_, err := tw.Ours.ExecContext(t.Context(), "UPDATE hot SET n = GREATEST(n, 0) WHERE id = ?", 10+i%8*10)
			c.Check(err)
		})
		c.NoDeadlocks(t)
		require.Equal(t, sum.Load(), harness.Number(t, tw.Ours, "SELECT SUM(n) FROM hot"))
	})
}

// TestUpserts proves that INSERT … ON DUPLICATE KEY UPDATE c = c + 1 on keys that
// come and go counts exactly the rows it was told.
func TestUpserts(t *testing.T) {
	const schema = "CREATE TABLE page (day INT, name VARCHAR(20), hits INT NOT NULL DEFAULT 0, PRIMARY KEY (day, name));\n"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("page", "hits"), "interpolateParams=true", "innodb_lock_wait_timeout=20")
		tw.Sent.Off.Store(true)
		tw.Ours.SetMaxIdleConns(32)
		var c harness.Crowd
		var told, mine atomic.Int64
		c.Run(16, func(client int) {
			for i := range 40 {
				res, err := tw.Ours.ExecContext(t.Context(), "INSERT INTO page (day, name, hits) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", i/4, []string{"a", "A", "b"}[rand.IntN(3)])
				if c.Check(err) {
					n, _ := res.RowsAffected()
					told.Add(1)
					if n == 1 {
						mine.Add(1) // inserted
					}
				}
			}
		})
		c.NoDeadlocks(t)
		require.EqualValues(t, 16*40, told.Load())
		require.EqualValues(t, 16*40, harness.Number(t, tw.Ours, "SELECT SUM(hits) FROM page"))
		require.Equal(t, mine.Load(), harness.Number(t, tw.Ours, "SELECT COUNT(*) FROM page"))
	})
}

// TestDeletedAndInserted proves that a row that is deleted and inserted again
// beside increments starts from what was inserted: no slot of its predecessor
// shows, and what was acknowledged for other rows is there. Deadlocks are
// possible: plain MariaDB has them here, by dozens.
func TestDeletedAndInserted(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewHot(t, srv, countermysql.ReadOwnLatest)
		for _, who := range []struct {
			name        string
			db, deleter *sql.DB
		}{{"plain", tw.Plain, tw.Plain}, {"ours", tw.Ours, tw.Ours}, {"ours beside a client that knows nothing of slots", tw.Ours, tw.Direct}} {
			t.Run(who.name, func(t *testing.T) {
				harness.Affected(t, who.db, "UPDATE hot SET n = 0 WHERE id = 20")
				var c harness.Crowd
				var sum atomic.Int64
				c.Run(8, func(int) {
					for range 30 {
						_, err := who.db.ExecContext(t.Context(), "UPDATE hot SET n = n + 1 WHERE id = 10")
						c.Check(err)
						if c.Check(harness.InTransaction(t.Context(), who.db, sql.LevelRepeatableRead, []string{"UPDATE hot SET n = n + 1 WHERE id IN (10, 20)"})) {
							sum.Add(1)
						}
					}
				}, func(int) {
					_, err := who.deleter.ExecContext(t.Context(), "DELETE FROM hot WHERE id = 10")
					c.Check(err)
					_, err = who.db.ExecContext(t.Context(), "INSERT INTO hot (id, n) VALUES (10, 1000)")
					c.Check(err)
					var n int64
					err = who.db.QueryRowContext(t.Context(), "SELECT n FROM hot WHERE id = 10").Scan(&n)
					if c.Check(err) && n < 1000 {
						err := fmt.Errorf("ghosts of decrements: %d", n)
						c.Failed.CompareAndSwap(nil, &err)
					}
				})
				harness.Affected(t, who.deleter, "DELETE FROM hot WHERE id = 10")
				harness.Affected(t, who.db, "INSERT INTO hot (id, n) VALUES (10, 1000)")
				require.EqualValues(t, 1000, harness.Number(t, who.db, "SELECT n FROM hot WHERE id = 10"))
				require.Equal(t, sum.Load(), harness.Number(t, who.db, "SELECT n FROM hot WHERE id = 20"))
				require.NotZero(t, sum.Load())
				if err := c.Failed.Load(); err != nil {
					require.NoError(t, *err)
				}
				require.Zero(t, c.Timeouts.Load())
				t.Logf("%d deadlocks", c.Deadlocks.Load())
			})
		}
	})
}

// TestStalledCleaning proves that an INSERT that removes slots left under its key
// does not remove those of a row that another client inserts meanwhile.
func TestStalledCleaning(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
			t.Run(level, func(t *testing.T) {
				tw := harness.NewHot(t, srv, countermysql.ReadOwnLatest)
				harness.Affected(t, tw.Direct, "DELETE FROM hot WHERE id = 10")
				harness.Affected(t, tw.Direct, "INSERT INTO hot_slots (id, slot, n) VALUES (10, 0, 5)") // left behind
				holder, err := tw.Direct.Begin()
				require.NoError(t, err)
				defer holder.Rollback()
				require.EqualValues(t, 5, harness.Number(t, holder, "SELECT n FROM hot_slots WHERE id = 10 AND slot = 0 FOR UPDATE"))

				conn := harness.Session(t, tw.Ours)
				harness.Affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
				inserted := make(chan error, 1)
				go func() {
					_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "INSERT INTO hot (id) VALUES (10)")
					inserted <- err
				}()
				time.Sleep(100 * time.Millisecond) // it waits for the holder
				counted := int64(0)
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := tw.Direct.ExecContext(short, "INSERT INTO hot (id, n) VALUES (10, 0)"); err == nil {
					for range 5 {
						short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
						if res, err := tw.Ours.ExecContext(short, "UPDATE hot SET n = n + 1 WHERE id = 10"); err == nil {
							n, _ := res.RowsAffected()
							counted += n
						}
						cancel()
					}
				}
				require.NoError(t, holder.Rollback())
				t.Logf("%d increments beside the INSERT", counted)
				t.Logf("the INSERT: %v", <-inserted) // a duplicate, or the first
				require.Eventually(t, func() bool {  // cut off statements may still run
					return harness.Number(t, tw.Ours, "SELECT n FROM hot WHERE id = 10") >= counted
				}, 2*time.Second, 50*time.Millisecond, "%d were acknowledged", counted)
			})
		}
	})
}
