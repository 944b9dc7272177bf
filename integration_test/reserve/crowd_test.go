package reserve

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

// TestReserveSoldOut proves that many transactions which sell one item sell exactly what is
// there, that nobody is refused while there is enough for him, that each snapshot sees sales and
// stock of one moment, and that no deadlock comes of it where taking is the first statement: by both
// usual isolation levels, in two processes, with rollbacks, and beside who edits, restocks, reads for
// update and rolls up.
func TestReserveSoldOut(t *testing.T) {
	const there = 2000
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, as := range []struct {
			level sql.IsolationLevel
			later bool // the guard is not the transaction's first statement; then in one process
		}{{sql.LevelRepeatableRead, false}, {sql.LevelReadCommitted, false}, {sql.LevelRepeatableRead, true}} {
			level, later := as.level, as.later
			tw := newShop(t, srv, reserved())
			tw.Sent.Off.Store(true)
			harness.Affected(t, tw.Direct, "UPDATE item SET stock = ? WHERE id = 1", there)
			harness.ExecAll(t, tw.Ours, "CREATE TABLE visit (id INT AUTO_INCREMENT PRIMARY KEY, item_id INT NOT NULL)")
			want(t, tw, 1) // who is at the row already when its reserved rows are made may deadlock
			other, _ := harness.OpenOurs(t, tw.OursDSN, reserved())
			other.SetMaxOpenConns(64)
			other.SetMaxIdleConns(64)
			dbs := []*sql.DB{tw.Ours, tw.Ours, other}
			if later {
				dbs[2] = tw.Ours
			}
			var c harness.Crowd
			var sold, refused, added atomic.Int64
			added.Store(there)
			order := func(db *sql.DB, n int) (ok bool) {
				tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
				if !c.Check(err) {
					return true
				}
				defer tx.Rollback()
				if later && rand.IntN(2) == 0 { // it is not its first statement
					if _, err := tx.Exec("INSERT INTO visit (item_id) VALUES (1)"); !c.Check(err) {
						return true
					}
				}
				res, err := tx.Exec(buy, n, 1, n)
				if !c.Check(err) {
					return true
				}
				if got, _ := res.RowsAffected(); got == 0 {
					refused.Add(1)
					return false
				}
				if _, err := tx.Exec(sell, 1, n); !c.Check(err) {
					return true
				}
				if rand.IntN(10) == 0 {
					return true
				}
				if c.Check(tx.Commit()) {
					sold.Add(int64(n))
				}
				return true
			}
			restocked := time.Now().Add(2 * time.Second)
			c.Run(24, func(i int) {
				for n := 1 + i%3; n > 0 && c.Failed.Load() == nil; {
					if !order(dbs[i%3], n) && time.Now().After(restocked) {
						n--
					}
				}
			}, func(i int) { // one moment, whoever reads
				var sum int64
				err := dbs[i%3].QueryRow(stockAndSales).Scan(&sum)
				if c.Check(err) && (sum < there || sum > added.Load()) {
					err := fmt.Errorf("stock and sales are %d", sum)
					c.Failed.CompareAndSwap(nil, &err)
				}
			}, func(i int) {
				if i%100 == 0 && time.Now().Before(restocked.Add(-time.Second)) {
					added.Add(200)
					_, err := dbs[i/100%3].Exec("UPDATE item SET stock = stock + 200 WHERE id = 1")
					c.Check(err)
				}
			}, func(i int) {
				_, err := dbs[i%3].Exec("UPDATE item SET title = ? WHERE id = 1", fmt.Sprint(i))
				c.Check(err)
			}, func(i int) {
				_, err := dbs[i%3].Exec("UPDATE item SET views = views + 1 WHERE id = 1")
				c.Check(err)
			}, func(i int) {
				if i%50 != 0 {
					return
				}
				c.Check(harness.InTransaction(t.Context(), dbs[i/50%3], level, []string{"SELECT stock FROM item WHERE id = 1 FOR UPDATE", "UPDATE item SET stock = stock + 0 WHERE id = 1"}))
			}, func(i int) {
				if i%50 == 0 {
					_, err := countermysql.Rollup(context.Background(), other, nil)
					c.Check(err)
				}
			})
			if later { // docs/stock.md says so
				t.Log(c.Deadlocks.Load(), "deadlocks")
				require.LessOrEqual(t, c.Deadlocks.Load(), int64(20), "of thousands")
				c.Deadlocks.Store(0)
			}
			c.NoDeadlocks(t)
			require.NotZero(t, harness.Stats(t, tw.Ours).Reserved)
			require.Equal(t, later, harness.Stats(t, other).Reserved == 0)
			harness.RollUp(t, tw.Ours)
			stock, sales := harness.Number(t, tw.Direct, "SELECT CAST(stock AS SIGNED) FROM item WHERE id = 1"), harness.Number(t, tw.Direct, "SELECT CAST(SUM(n) AS SIGNED) FROM sale")
			require.EqualValues(t, sold.Load(), sales)
			require.EqualValues(t, added.Load(), stock+sales)
			require.Zero(t, stock)
			t.Log("sold", sold.Load(), "refused", refused.Load(), "reserved", harness.Stats(t, tw.Ours).Reserved)
		}
	})
}
