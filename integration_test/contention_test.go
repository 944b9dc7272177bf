package integration_test

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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newHot(t, srv, countermysql.ReadOwnLatest)
		for name, body := range bodies {
			for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
				t.Run(name+"/"+level.String(), func(t *testing.T) {
					const clients, transactions = 12, 8
					for i, db := range []*sql.DB{tw.plain, tw.ours} {
						affected(t, db, "UPDATE hot SET n = 0")
						var c crowd
						c.run(clients, func(int) {
							for range transactions {
								c.check(inTransaction(t.Context(), db, level, body))
							}
						})
						require.Zero(t, c.deadlocks.Load(), "deadlocks, ours: %v", i == 1)
						c.noDeadlocks(t)
						require.EqualValues(t, clients*transactions, number(t, db, "SELECT n FROM hot WHERE id = 10"))
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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newHot(t, srv, countermysql.ReadOwnLatest)
		for i, stmt := range []string{
			"REPLACE INTO hot (id, n) VALUES (%d, 1)",
			"INSERT INTO hot (id, n) VALUES (%d, 1) ON DUPLICATE KEY UPDATE n = VALUES(n)",
			"INSERT INTO hot (id, n) VALUES (%d, 1) ON DUPLICATE KEY UPDATE n = GREATEST(n, 1)",
		} {
			for _, db := range []*sql.DB{tw.plain, tw.ours} {
				var c crowd
				c.run(8, func(client int) {
					for row := range 25 {
						_, err := db.ExecContext(t.Context(), fmt.Sprintf(stmt, 1000*(10*(i+1)+client)+row))
						c.check(err)
					}
				})
				c.noDeadlocks(t)
			}
		}
		tw.same(t, "SELECT COUNT(*), SUM(n) FROM hot")
	})
}

func inTransaction(ctx context.Context, db *sql.DB, level sql.IsolationLevel, stmts []string) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, stmt := range stmts {
		if isQuery.MatchString(stmt) {
			var n int64
			err = tx.QueryRowContext(ctx, stmt).Scan(&n)
		} else {
			_, err = tx.ExecContext(ctx, stmt)
		}
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

// TestManyKeys proves that statements that increment several keys at once, in
// any order and inside and outside transactions, neither deadlock nor lose.
func TestManyKeys(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newHot(t, srv, countermysql.ReadOwnLatest)
		var c crowd
		var sum atomic.Int64
		c.run(24, func(client int) {
			for range 25 {
				k := rand.Perm(8)
				text := fmt.Sprintf("UPDATE hot SET n = n + 1 WHERE id IN (%d, %d, %d)", 10+k[0]*10, 10+k[1]*10, 10+k[2]*10)
				if client%2 == 0 {
					res, err := tw.ours.ExecContext(t.Context(), text)
					if c.check(err) {
						n, _ := res.RowsAffected()
						sum.Add(n)
					}
				} else if c.check(inTransaction(t.Context(), tw.ours, sql.LevelRepeatableRead, []string{text, fmt.Sprintf("UPDATE hot SET n = n + 2 WHERE id = %d", 10+k[3]*10)})) {
					sum.Add(5)
				}
			}
		}, func(i int) {
			_, err := tw.ours.ExecContext(t.Context(), "UPDATE hot SET n = GREATEST(n, 0) WHERE id = ?", 10+i%8*10)
			c.check(err)
		})
		c.noDeadlocks(t)
		require.Equal(t, sum.Load(), number(t, tw.ours, "SELECT SUM(n) FROM hot"))
	})
}

// TestUpserts proves that INSERT … ON DUPLICATE KEY UPDATE c = c + 1 on keys that
// come and go counts exactly the rows it was told.
func TestUpserts(t *testing.T) {
	const schema = "CREATE TABLE page (day INT, name VARCHAR(20), hits INT NOT NULL DEFAULT 0, PRIMARY KEY (day, name));\n"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, schema, counters("page", "hits"), "interpolateParams=true", "innodb_lock_wait_timeout=20")
		tw.sent.off.Store(true)
		tw.ours.SetMaxIdleConns(32)
		var c crowd
		var told, mine atomic.Int64
		c.run(16, func(client int) {
			for i := range 40 {
				res, err := tw.ours.ExecContext(t.Context(), "INSERT INTO page (day, name, hits) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", i/4, []string{"a", "A", "b"}[rand.IntN(3)])
				if c.check(err) {
					n, _ := res.RowsAffected()
					told.Add(1)
					if n == 1 {
						mine.Add(1) // inserted
					}
				}
			}
		})
		c.noDeadlocks(t)
		require.EqualValues(t, 16*40, told.Load())
		require.EqualValues(t, 16*40, number(t, tw.ours, "SELECT SUM(hits) FROM page"))
		require.Equal(t, mine.Load(), number(t, tw.ours, "SELECT COUNT(*) FROM page"))
	})
}

// TestDeletedAndInserted proves that a row that is deleted and inserted again
// beside increments starts from what was inserted: no slot of its predecessor
// shows, and what was acknowledged for other rows is there. Deadlocks are
// possible: plain MariaDB has them here, by dozens.
func TestDeletedAndInserted(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newHot(t, srv, countermysql.ReadOwnLatest)
		for _, who := range []struct {
			name        string
			db, deleter *sql.DB
		}{{"plain", tw.plain, tw.plain}, {"ours", tw.ours, tw.ours}, {"ours beside a client that knows nothing of slots", tw.ours, tw.direct}} {
			t.Run(who.name, func(t *testing.T) {
				affected(t, who.db, "UPDATE hot SET n = 0 WHERE id = 20")
				var c crowd
				var sum atomic.Int64
				c.run(8, func(int) {
					for range 30 {
						_, err := who.db.ExecContext(t.Context(), "UPDATE hot SET n = n + 1 WHERE id = 10")
						c.check(err)
						if c.check(inTransaction(t.Context(), who.db, sql.LevelRepeatableRead, []string{"UPDATE hot SET n = n + 1 WHERE id IN (10, 20)"})) {
							sum.Add(1)
						}
					}
				}, func(int) {
					_, err := who.deleter.ExecContext(t.Context(), "DELETE FROM hot WHERE id = 10")
					c.check(err)
					_, err = who.db.ExecContext(t.Context(), "INSERT INTO hot (id, n) VALUES (10, 1000)")
					c.check(err)
					var n int64
					err = who.db.QueryRowContext(t.Context(), "SELECT n FROM hot WHERE id = 10").Scan(&n)
					if c.check(err) && n < 1000 {
						err := fmt.Errorf("ghosts of decrements: %d", n)
						c.failed.CompareAndSwap(nil, &err)
					}
				})
				affected(t, who.deleter, "DELETE FROM hot WHERE id = 10")
				affected(t, who.db, "INSERT INTO hot (id, n) VALUES (10, 1000)")
				require.EqualValues(t, 1000, number(t, who.db, "SELECT n FROM hot WHERE id = 10"))
				require.Equal(t, sum.Load(), number(t, who.db, "SELECT n FROM hot WHERE id = 20"))
				require.NotZero(t, sum.Load())
				if err := c.failed.Load(); err != nil {
					require.NoError(t, *err)
				}
				require.Zero(t, c.timeouts.Load())
				t.Logf("%d deadlocks", c.deadlocks.Load())
			})
		}
	})
}

// TestStalledCleaning proves that an INSERT that removes slots left under its key
// does not remove those of a row that another client inserts meanwhile.
func TestStalledCleaning(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
			t.Run(level, func(t *testing.T) {
				tw := newHot(t, srv, countermysql.ReadOwnLatest)
				affected(t, tw.direct, "DELETE FROM hot WHERE id = 10")
				affected(t, tw.direct, "INSERT INTO hot_slots (id, slot, n) VALUES (10, 0, 5)") // left behind
				holder, err := tw.direct.Begin()
				require.NoError(t, err)
				defer holder.Rollback()
				require.EqualValues(t, 5, number(t, holder, "SELECT n FROM hot_slots WHERE id = 10 AND slot = 0 FOR UPDATE"))

				conn := session(t, tw.ours)
				affected(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
				inserted := make(chan error, 1)
				go func() {
					_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "INSERT INTO hot (id) VALUES (10)")
					inserted <- err
				}()
				time.Sleep(100 * time.Millisecond) // it waits for the holder
				counted := int64(0)
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := tw.direct.ExecContext(short, "INSERT INTO hot (id, n) VALUES (10, 0)"); err == nil {
					for range 5 {
						short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
						if res, err := tw.ours.ExecContext(short, "UPDATE hot SET n = n + 1 WHERE id = 10"); err == nil {
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
					return number(t, tw.ours, "SELECT n FROM hot WHERE id = 10") >= counted
				}, 2*time.Second, 50*time.Millisecond, "%d were acknowledged", counted)
			})
		}
	})
}
