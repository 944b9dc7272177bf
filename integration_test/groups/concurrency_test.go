package groups

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestNoDeadlocks proves that transactions that increment 4 of 8 counters in
// random order never deadlock and lose nothing, with reads inside under
// ReadOwnSnapshot, and beside edits, exact statements and inserts of others.
func TestNoDeadlocks(t *testing.T) {
	const clients, transactions = 32, 12
	beside := map[string][]func(ctx context.Context, db *sql.DB, c *harness.Crowd, i int){
		"nothing": nil,
		"edits": {func(ctx context.Context, db *sql.DB, c *harness.Crowd, i int) {
			_, err := db.ExecContext(ctx, "UPDATE hot SET title = ? WHERE id = ?", fmt.Sprint(i), 10+i%8*10)
			c.Check(err)
		}},
		"exact statements": {func(ctx context.Context, db *sql.DB, c *harness.Crowd, i int) {
			_, err := db.ExecContext(ctx, "UPDATE hot SET n = GREATEST(n, 0) WHERE id = ?", 10+i%8*10)
			c.Check(err)
		}},
		"inserts": {func(ctx context.Context, db *sql.DB, c *harness.Crowd, i int) {
			id := 10 + i%8*10 + 1 + i/8%9 // between the others
			_, err := db.ExecContext(ctx, "INSERT INTO hot (id) VALUES (?)", id)
			c.Check(err)
			_, err = db.ExecContext(ctx, "UPDATE hot SET n = n + 1 WHERE id = ?", id) // its first slot
			c.Check(err)
			_, err = db.ExecContext(ctx, "DELETE FROM hot WHERE id = ?", id)
			c.Check(err)
		}},
	}
	for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
		for _, readOwn := range []countermysql.ReadOwn{countermysql.ReadOwnLatest, countermysql.ReadOwnSnapshot} {
			for name, others := range beside {
				t.Run(fmt.Sprintf("%s/%s/beside %s", level, readOwn, name), func(t *testing.T) {
					harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
						tw := harness.NewHot(t, srv, readOwn)
						var c harness.Crowd
						var besides []func(int)
						for _, f := range others {
							besides = append(besides, func(i int) { f(t.Context(), tw.Ours, &c, i) })
						}
						var acknowledged atomic.Int64
						c.Run(clients, func(int) {
							for range transactions {
								n, err := incrementFour(t.Context(), tw.Ours, level, readOwn == countermysql.ReadOwnSnapshot)
								if c.Check(err) {
									acknowledged.Add(n)
								}
							}
						}, besides...)
						c.NoDeadlocks(t)
						require.EqualValues(t, clients*transactions*4, acknowledged.Load())
						require.Equal(t, acknowledged.Load(), harness.Number(t, tw.Ours, "SELECT SUM(n) FROM hot WHERE id % 10 = 0"))
					})
				})
			}
		}
	}
}

// incrementFour increments 4 of 8 counters in random order in a transaction and
// returns how many rows it was told.
func incrementFour(ctx context.Context, db *sql.DB, level sql.IsolationLevel, reads bool) (int64, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	var total int64
	for i, k := range rand.Perm(8)[:4] {
		id := 10 + k*10
		res, err := tx.ExecContext(ctx, "UPDATE hot SET n = n + 1 WHERE id = ?", id)
		if err != nil {
			return 0, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return 0, err
		}
		total += n
		if reads && i%2 == 1 {
			var n int64
			if err := tx.QueryRowContext(ctx, "SELECT n FROM hot WHERE id = ?", id).Scan(&n); err != nil {
				return 0, err
			}
			if n < 1 {
				return 0, fmt.Errorf("the transaction does not see its own increment: %d", n)
			}
		}
	}
	return total, tx.Commit()
}

// TestPlainDeadlocks proves that the same transactions deadlock on plain MySQL:
// else TestNoDeadlocks would show nothing.
func TestPlainDeadlocks(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewHot(t, srv, countermysql.ReadOwnLatest)
		tw.Plain.SetMaxOpenConns(32)
		var c harness.Crowd
		c.Run(32, func(int) {
			for range 10 {
				_, err := incrementFour(t.Context(), tw.Plain, sql.LevelRepeatableRead, false)
				c.Check(err)
			}
		})
		require.NotZero(t, c.Deadlocks.Load())
	})
}

// TestConservation proves that the sum is what was acknowledged, whatever else
// goes on: exact statements, rollbacks, savepoints, deletes of other keys.
func TestConservation(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
			t.Run(level.String(), func(t *testing.T) {
				tw := harness.NewHot(t, srv, countermysql.ReadOwnLatest)
				ctx := t.Context()
				var c harness.Crowd
				var sum atomic.Int64
				// with reads of one's own, deadlocks are as possible as on plain MySQL
				mayDeadlock := func(err error) bool { return c.Check(err) }
				one := func(text string, d int64, args ...any) {
					res, err := tw.Ours.ExecContext(ctx, text, args...)
					if mayDeadlock(err) {
						n, _ := res.RowsAffected()
						sum.Add(n * d)
					}
				}
				inTx := func(body func(tx *sql.Tx) (int64, error)) {
					tx, err := tw.Ours.BeginTx(ctx, &sql.TxOptions{Isolation: level})
					if !mayDeadlock(err) {
						return
					}
					defer tx.Rollback()
					if d, err := body(tx); mayDeadlock(err) && mayDeadlock(tx.Commit()) {
						sum.Add(d)
					}
				}
				each := func(tx *sql.Tx, stmts ...string) error {
					for _, s := range stmts {
						if _, err := tx.ExecContext(ctx, s); err != nil {
							return err
						}
					}
					return nil
				}
				c.Run(16, func(client int) {
					for range 25 {
						id := 10 + rand.IntN(8)*10
						add := fmt.Sprintf("UPDATE hot SET n = n + 1 WHERE id = %d", id)
						switch client % 8 {
						case 0:
							one("UPDATE hot SET n = n + 1 WHERE id = ?", 1, id)
						case 1:
							one("UPDATE hot SET n = n - 1 WHERE id IN (?, ?)", -1, 10, 80)
						case 2: // an exact statement that adds 2
							one("UPDATE hot SET n = GREATEST(n + 2, -1000000) WHERE id = ?", 2, id)
						case 3:
							one("UPDATE hot SET n = n + 3, title = 'x' WHERE id = ?", 3, id)
						case 4:
							inTx(func(tx *sql.Tx) (int64, error) {
								return 1, each(tx, add, "SAVEPOINT a", add, "ROLLBACK TO a")
							})
						case 5:
							inTx(func(tx *sql.Tx) (int64, error) {
								if err := each(tx, add, "UPDATE hot SET title = 'gone' WHERE id = 20"); err != nil {
									return 0, err
								}
								return 0, tx.Rollback()
							})
						case 6: // an edit of one key, increments of lesser and greater ones
							inTx(func(tx *sql.Tx) (int64, error) {
								return 2, each(tx, fmt.Sprintf("UPDATE hot SET title = 'y' WHERE id = %d", id), "UPDATE hot SET n = n + 1 WHERE id IN (10, 80)")
							})
						default: // read of one's own, then another exact one
							inTx(func(tx *sql.Tx) (int64, error) {
								var n int64
								if err := each(tx, add); err != nil {
									return 0, err
								}
								if err := tx.QueryRowContext(ctx, "SELECT n FROM hot WHERE id = ?", id).Scan(&n); err != nil {
									return 0, err
								}
								_, err := tx.ExecContext(ctx, "UPDATE hot SET n = ? WHERE id = ?", n+4, id)
								return 5, err
							})
						}
					}
				}, func(i int) {
					id := 10 + i%8*10 + 5
					one("INSERT INTO hot (id, n) VALUES (?, 0)", 0, id)
					one("UPDATE hot SET n = n + 7 WHERE id = ?", 0, id)
					one("DELETE FROM hot WHERE id = ?", 0, id)
				})
				if err := c.Failed.Load(); err != nil && harness.ErrorNumber(*err) >= 0 {
					require.NoError(t, *err)
				}
				require.Zero(t, c.Timeouts.Load())
				require.Equal(t, sum.Load(), harness.Number(t, tw.Ours, "SELECT SUM(n) FROM hot WHERE id % 10 = 0"))
				require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM hot_slots s LEFT JOIN hot h ON h.id = s.id WHERE h.id IS NULL"))
				t.Logf("%d deadlocks", c.Deadlocks.Load())
			})
		}
	})
}

// TestStock proves that guarded decrements never sell what is not there, and
// that none of them and no increment beside them is lost.
func TestStock(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, kind := range []string{"INT", "INT UNSIGNED"} {
			t.Run(kind, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, "CREATE TABLE item (id INT PRIMARY KEY, stock "+kind+" NOT NULL);\nINSERT INTO item VALUES (1, 20), (2, 0);\n",
					harness.Counters("item", "stock"), "interpolateParams=true")
				tw.Sent.Off.Store(true)
				tw.Ours.SetMaxIdleConns(32)
				var c harness.Crowd
				var stock, sold atomic.Int64
				stock.Store(20)
				buy := func(d int64, text string) {
					res, err := tw.Ours.ExecContext(t.Context(), text, 1)
					if c.Check(err) {
						n, _ := res.RowsAffected()
						if stock.Add(n * d); d < 0 {
							sold.Add(n)
						}
					}
				}
				c.Run(16, func(client int) {
					for range 30 {
						if client%4 == 0 {
							buy(1, "UPDATE item SET stock = stock + 1 WHERE id = ?")
						} else {
							buy(-1, "UPDATE item SET stock = stock - 1 WHERE id = ? AND stock >= 1")
						}
					}
				})
				c.NoDeadlocks(t)
				left := harness.Number(t, tw.Ours, "SELECT stock FROM item WHERE id = 1")
				require.Equal(t, stock.Load(), left)
				require.GreaterOrEqual(t, left, int64(0))
				require.EqualValues(t, 0, harness.Number(t, tw.Ours, "SELECT stock FROM item WHERE id = 2"))
				require.GreaterOrEqual(t, sold.Load(), int64(20), "there were as many from the beginning")
			})
		}
	})
}
