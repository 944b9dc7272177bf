package reserve

import (
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReserveKilled proves that stock and sales are those of one moment whatever becomes of the
// connections: those of transactions that have taken units, that fill reserved rows and that add
// them up are killed all the time, on the server and with their statements.
func TestReserveKilled(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newShop(t, srv, reserved())
		tw.Sent.Off.Store(true)
		other, _ := harness.OpenOurs(t, tw.OursDSN, reserved())
		order := func(i int) error {
			db := tw.Ours
			if i%2 == 1 {
				db = other
			}
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			defer tx.Rollback()
			take := func(n int, text string, args ...any) error {
				res, err := tx.Exec(text, args...)
				if err != nil {
					return err
				}
				if affected, err := res.RowsAffected(); err != nil || affected == 0 {
					return errors.Join(err, errors.New("sold out"))
				}
				_, err = tx.Exec(sell, 1, n)
				return err
			}
			if err := take(1, buy, 1, 1, 1); err != nil {
				return err
			}
			if i == 5 { // which needs the row: its process learns that
				if err := take(20, "UPDATE item SET stock = stock - 20 WHERE id = 1 AND stock >= 20 AND title = ''"); err != nil {
					return err
				}
			}
			return tx.Commit()
		}
		var c harness.Crowd
		var done, killed atomic.Int64
		begun := time.Now()
		goesOn := func() bool { // a filling that was killed is tried again a second later
			for _, db := range []*sql.DB{tw.Ours, other} {
				if stats, err := countermysql.Stats(db); err != nil || stats.Reserved == 0 {
					return time.Since(begun) < 20*time.Second
				}
			}
			return time.Since(begun) < 4*time.Second
		}
		c.Run(12, func(i int) {
			for goesOn() {
				if order(i) == nil {
					done.Add(1)
				}
			}
		}, func(i int) {
			var sum int64
			if err := tw.Ours.QueryRow(stockAndSales).Scan(&sum); err == nil && sum != 10000 {
				err := fmt.Errorf("stock and sales are %d", sum)
				c.Failed.CompareAndSwap(nil, &err)
			}
		}, func(i int) {
			what := []string{"KILL ", "KILL QUERY "}[i%2]
			for _, id := range harness.QueriedList(t, tw.Direct, fmt.Sprintf("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID() ORDER BY (ID * %d) %% 101 LIMIT 1", 1+i%97)) {
				if _, err := tw.Direct.Exec(what + id); err == nil {
					killed.Add(1)
				}
			}
			time.Sleep(5 * time.Millisecond)
		})
		if err := c.Failed.Load(); err != nil {
			require.NoError(t, *err)
		}
		require.NotZero(t, harness.Stats(t, tw.Ours).Reserved)
		require.NotZero(t, killed.Load())
		harness.Forget(tw.Ours, other)
		require.EqualValues(t, 10000, harness.Number(t, tw.Ours, stockAndSales))
		harness.RollUp(t, tw.Ours)
		require.EqualValues(t, 10000, harness.Number(t, tw.Direct, stockAndSales))
		t.Log(done.Load(), "orders", killed.Load(), "killed", harness.Stats(t, tw.Ours).Reserved, "reserved")
	})
}
