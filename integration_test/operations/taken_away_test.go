package operations

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCounterTakenAway proves the way by which docs/operations.md takes a counter away: beside
// clients that go on incrementing it and another one, by the shorter list, no count is lost, and
// from then on its increments change the base row.
func TestCounterTakenAway(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock", "sold"))
		harness.ExecAll(t, tw.Direct, "UPDATE item SET sold = 0")
		for range 3 {
			harness.Affected(t, tw.Ours, "UPDATE item SET stock = stock + 1, sold = sold + 1 WHERE id = 1")
		}
		require.Positive(t, harness.Number(t, tw.Direct, "SELECT FLOOR(SUM(sold)) FROM item_slots"))
		require.NoError(t, tw.Ours.Close())

		short, _ := harness.OpenOurs(t, tw.OursDSN, harness.Counters("item", "stock"))
		var counted atomic.Int64
		var done atomic.Bool
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() {
				for !done.Load() {
					tx, err := short.Begin()
					if err == nil {
						_, err = tx.Exec("UPDATE item SET stock = stock + 1 WHERE id = 1")
						if err == nil {
							_, err = tx.Exec("UPDATE item SET sold = sold + 1 WHERE id = 1")
						}
						if err == nil {
							err = tx.Commit()
						} else {
							_ = tx.Rollback()
						}
					}
					switch n := harness.ErrorNumber(err); {
					case err == nil:
						counted.Add(1)
					case n != 1213 && n != 1412 && n != 1205: // which are tried again
						t.Errorf("a client failed: %v", err)
						return
					}
				}
			})
		}
		clients.Go(func() { // so that it notices at once what takes ten seconds else
			for !done.Load() {
				if _, err := countermysql.Check(t.Context(), short); err != nil {
					t.Errorf("a look failed: %v", err)
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
		tool, _ := harness.OpenOurs(t, tw.OursDSN, harness.Counters("item", "stock"))
		_, err := countermysql.Drop(t.Context(), tool, &countermysql.DropOptions{StopOnly: true, Notice: 2 * time.Second})
		require.NoError(t, err)
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM item_slots"))
		harness.ExecAll(t, tw.Direct, "ALTER TABLE item_slots DROP COLUMN sold")
		_, err = countermysql.Init(t.Context(), tool, nil)
		require.NoError(t, err)
		more := counted.Load()
		require.Eventually(t, func() bool { return counted.Load() > more+20 }, 20*time.Second, time.Millisecond)
		done.Store(true)
		clients.Wait()
		for _, db := range []harness.Querier{short, tool} {
			require.EqualValues(t, counted.Load()+3, harness.Number(t, db, "SELECT stock FROM item WHERE id = 1"))
			require.EqualValues(t, counted.Load()+3, harness.Number(t, db, "SELECT FLOOR(sold) FROM item WHERE id = 1"))
		}
		require.EqualValues(t, counted.Load()+3, harness.Number(t, tw.Direct, "SELECT FLOOR(sold) FROM item WHERE id = 1"))
		findings, err := countermysql.Check(t.Context(), tool)
		require.NoError(t, err)
		require.Empty(t, harness.OnTables(findings))
	})
}
