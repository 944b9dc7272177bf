package reserve

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// sold begins a transaction that has taken n of item 1 from a reserved row.
func sold(t *testing.T, tw *harness.Twin, n int) *sql.Tx {
	t.Helper()
	before := harness.Stats(t, tw.Ours).Reserved
	tx, err := tw.Ours.Begin()
	require.NoError(t, err)
	t.Cleanup(func() { tx.Rollback() })
	res, err := tx.Exec(buy, n, 1, n)
	require.NoError(t, err)
	affected, err := res.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 1, affected)
	require.EqualValues(t, 1, harness.Stats(t, tw.Ours).Reserved-before, "it went to the base row")
	return tx
}

const stockOf = "SELECT stock FROM item WHERE id = 1"

// TestReserveWaits proves that who needs the value of a row waits for those who have taken units of
// it, as on plain MySQL, whoever ends how; that who only reads sees what is committed; and that
// two who have taken some don't wait for each other.
func TestReserveWaits(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, commits := range []bool{true, false} {
			for n, needs := range []string{
				"UPDATE item SET stock = stock DIV 2 WHERE id = 1",
				"UPDATE item SET stock = stock - 9990 WHERE id = 1 AND stock >= 9990",
				"UPDATE item SET stock = 3 WHERE id = 1",
				"UPDATE item SET stock = stock * 2 WHERE id < 3",
				"DELETE FROM item WHERE id = 1",
				"DELETE i FROM item i JOIN (SELECT 1 AS id) o ON o.id = i.id",
				"UPDATE item SET id = 31 WHERE id = 1",
				"REPLACE INTO item (id, stock) VALUES (1, 5)",
				"SELECT stock FROM item WHERE id = 1 FOR UPDATE",
				"SELECT SUM(stock) FROM item WHERE title = '' FOR UPDATE",
				"SELECT stock FROM item WHERE id = 1 LOCK IN SHARE MODE",
				"ALTER TABLE item COMMENT = 'x'",
			} {
				t.Run(fmt.Sprint(n, commits), func(t *testing.T) {
					tw := newShop(t, srv, reserved())
					want(t, tw, 1)
					first, second := sold(t, tw, 7), sold(t, tw, 2)
					require.EqualValues(t, 10000, harness.Number(t, tw.Ours, stockOf))
					answer := make(chan string, 1)
					go func() {
						if strings.HasPrefix(needs, "SELECT") {
							answer <- harness.Queried(context.WithoutCancel(t.Context()), tw.Ours, needs)
							return
						}
						_, err := tw.Ours.ExecContext(context.WithoutCancel(t.Context()), needs)
						answer <- harness.Told(err)
					}()
					select {
					case a := <-answer:
						require.Fail(t, "it did not wait", "%s: %s", needs, a)
					case <-time.After(200 * time.Millisecond):
					}
					require.NoError(t, second.Rollback())
					if commits {
						require.NoError(t, first.Commit())
						_, err := tw.Plain.Exec("UPDATE item SET stock = stock - 7 WHERE id = 1")
						require.NoError(t, err)
					} else {
						require.NoError(t, first.Rollback())
					}
					got := harness.Soon(t, answer)
					if strings.HasPrefix(needs, "SELECT") {
						require.Equal(t, harness.Queried(t.Context(), tw.Plain, needs), got)
					} else {
						require.Equal(t, "done", got)
						_, err := tw.Plain.Exec(needs)
						require.NoError(t, err)
					}
					tw.Same(t, shelf)
				})
			}
		}
	})
}

// TestReserveRollup proves that a rollup leaves a row of which somebody takes units as it is,
// waits for nobody, and takes all of it when that is over.
func TestReserveRollup(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newShop(t, srv, reserved())
		want(t, tw, 1)
		held := inReserve(t, tw, 1)
		tx := sold(t, tw, 3)
		require.EqualValues(t, 1, harness.RollUp(t, tw.Ours)["item"].Busy)
		require.Equal(t, held, inReserve(t, tw, 1))
		require.NoError(t, tx.Commit())
		require.Equal(t, held-3, inReserve(t, tw, 1))
		require.Zero(t, harness.RollUp(t, tw.Ours)["item"].Busy)
		require.EqualValues(t, 9997, harness.Number(t, tw.Direct, stockOf))
		require.Zero(t, inReserve(t, tw, 1))
		other, _ := harness.OpenOurs(t, tw.OursDSN, reserved())
		harness.RollUp(t, other)
		require.EqualValues(t, rows+1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM item_slots"), "somebody may be about to fill them again")
		want(t, tw, 1)
		require.NoError(t, sold(t, tw, 2).Commit())
		require.EqualValues(t, 9995, harness.Number(t, tw.Ours, stockOf))
	})
}

// TestReserveFails proves that what is taken is taken once or not at all: where the connection is
// killed, where the statement that writes it at COMMIT fails, and where the answer to COMMIT is lost.
func TestReserveFails(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newShop(t, srv, reserved())
		want(t, tw, 1)

		conn := harness.Session(t, tw.Ours)
		tx, err := conn.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.Exec(buy, 5, 1, 5)
		require.NoError(t, err)
		_, err = tw.Direct.Exec(fmt.Sprint("KILL ", harness.Number(t, tx, "SELECT CONNECTION_ID()")))
		require.NoError(t, err)
		require.Error(t, tx.Commit())
		require.EqualValues(t, 10000, harness.Number(t, tw.Ours, stockOf))

		refused := errors.New("refused")
		tx = sold(t, tw, 5)
		tw.Sent.Meddle(t, func(query string) error {
			if strings.HasPrefix(query, "UPDATE") && strings.Contains(query, "item_slots") {
				return refused
			}
			return nil
		})
		require.ErrorIs(t, tx.Commit(), refused)
		tw.Sent.Meddle(t, func(string) error { return nil })
		require.EqualValues(t, 10000, harness.Number(t, tw.Ours, stockOf))
		require.NoError(t, sold(t, tw, 5).Commit())
		require.EqualValues(t, 9995, harness.Number(t, tw.Ours, stockOf))
		harness.Forget(tw.Ours)
	})
}

// TestReserveNoWait proves that who does not want to wait is refused while somebody takes units.
func TestReserveNoWait(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newShop(t, srv, reserved())
		want(t, tw, 1)
		tx := sold(t, tw, 7)
		begun := time.Now()
		refused := harness.Queried(t.Context(), tw.Ours, stockOf+" FOR UPDATE NOWAIT")
		require.Less(t, time.Since(begun), 5*time.Second)
		require.Contains(t, []string{"error 3572", "error 1205"}, refused)
		require.NoError(t, tx.Rollback())
		require.NotContains(t, harness.Queried(t.Context(), tw.Ours, stockOf+" FOR UPDATE NOWAIT"), "error")
	})
}

// TestReserveEmptied proves that reserved rows which hold nothing, or have other counters, are no
// hindrance: the row is needed again and again, filled again, and has two counters with a reserve.
func TestReserveEmptied(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := reserved()
		config.Tables[0].Reserve["views"] = 3
		tw := newShop(t, srv, config)
		harness.ExecAll(t, tw.Ours, "UPDATE item SET views = 1000 WHERE id = 1")
		const unsee = "UPDATE item SET views = views - 1 WHERE id = 1 AND views >= 1"
		for i := range 3 {
			want(t, tw, 1)
			tx := sold(t, tw, 1)
			harness.Affected(t, tx, "UPDATE item SET turnover = turnover + 2.5 WHERE id = 1")
			harness.Affected(t, tx, unsee) // from the base row
			require.NoError(t, tx.Commit())
			for range 2 {
				require.Equal(t, fmt.Sprintf("stock UNSIGNED INT, views UNSIGNED INT, turnover DECIMAL, [%d %d %.2f]", 9999-i, 999-i, 2.5*float64(i+1)),
					harness.Queried(t.Context(), tw.Ours, "SELECT stock, views, turnover FROM item WHERE id = 1 FOR UPDATE"))
			}
			harness.RollUp(t, tw.Ours)
		}
	})
}

// TestReserveLearns proves that a statement whose transactions go on to need the row does not take
// from reserved rows any more: with the next ones they would wait for each other.
func TestReserveLearns(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, needs := range []string{stockOf, "UPDATE item SET title = 'sold' WHERE id = 1", "UPDATE item SET stock = stock DIV 2 WHERE id = 1"} {
			tw := newShop(t, srv, reserved())
			want(t, tw, 1)
			tx := sold(t, tw, 1)
			if strings.HasPrefix(needs, "SELECT") {
				require.EqualValues(t, 9999, harness.Number(t, tx, needs))
			} else {
				_, err := tx.Exec(needs)
				require.NoError(t, err)
			}
			require.NoError(t, tx.Commit())
			before := harness.Stats(t, tw.Ours).Reserved
			tx, err := tw.Ours.Begin()
			require.NoError(t, err)
			_, err = tx.Exec(buy, 1, 1, 1)
			require.NoError(t, err)
			require.NoError(t, tx.Commit())
			require.Equal(t, before, harness.Stats(t, tw.Ours).Reserved, needs)
		}
	})
}

// TestReserveElsewhere proves that a process without a reserve in its configuration keeps to the
// same rules: it waits for who has taken units, and adds up all of them.
func TestReserveElsewhere(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newShop(t, srv, reserved())
		want(t, tw, 1)
		config := harness.Counters("item", "stock", "views")
		other, _ := harness.OpenOurs(t, tw.OursDSN, config)
		tx := sold(t, tw, 7)
		require.EqualValues(t, 10000, harness.Number(t, other, stockOf))
		answer := harness.Later(t, other, "UPDATE item SET stock = stock - 9990 WHERE id = 1 AND stock >= 9990")
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, tx.Commit())
		require.Equal(t, "affected 1", harness.Soon(t, answer))
		require.EqualValues(t, 3, harness.Number(t, other, stockOf))
		_, err := countermysql.Rollup(t.Context(), other, nil)
		require.NoError(t, err)
		require.EqualValues(t, 3, harness.Number(t, tw.Direct, stockOf))
	})
}

// TestReserveRecount proves that a counter of which somebody takes units is not corrected by a
// part of it, but as a whole, when that is over.
func TestReserveRecount(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := reserved()
		config.Tables[0].Recount = map[string]string{"stock": "SELECT item_id, SUM(n) FROM sale GROUP BY item_id"}
		tw := newShop(t, srv, config)
		harness.ExecAll(t, tw.Ours, "INSERT INTO sale (item_id, n) VALUES (1, 9000), (2, 10000), (3, 10000)")
		want(t, tw, 1)
		tx := sold(t, tw, 3)
		done, err := countermysql.Recount(t.Context(), tw.Ours, &countermysql.RecountOptions{Repair: true, MaxLock: 100 * time.Millisecond})
		require.NoError(t, err)
		require.EqualValues(t, 10000, harness.Number(t, tw.Ours, stockOf), "%+v", done)
		require.NoError(t, tx.Commit())
		_, err = countermysql.Recount(t.Context(), tw.Ours, &countermysql.RecountOptions{Repair: true})
		require.NoError(t, err)
		require.EqualValues(t, 9000, harness.Number(t, tw.Ours, stockOf))
	})
}

// TestReserveOtherClients proves that a client without the driver sees what is left in the base
// row, at least half, and sells nothing that is not there.
func TestReserveOtherClients(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newShop(t, srv, reserved())
		want(t, tw, 1)
		require.EqualValues(t, 10000-inReserve(t, tw, 1), harness.Number(t, tw.Direct, stockOf))
		require.GreaterOrEqual(t, harness.Number(t, tw.Direct, stockOf), int64(5000))
		require.EqualValues(t, 0, harness.Affected(t, tw.Direct, buy, 9000, 1, 9000))
		require.EqualValues(t, 1, harness.Affected(t, tw.Direct, buy, 5000, 1, 5000))
		require.EqualValues(t, 5000, harness.Number(t, tw.Ours, stockOf))
		require.NoError(t, sold(t, tw, 5).Commit())
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, buy, 4995, 1, 4995))
		require.Zero(t, harness.Number(t, tw.Ours, stockOf))
	})
}

// TestReserveDropped proves that who leaves gets all of it back into the base row.
func TestReserveDropped(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newShop(t, srv, reserved())
		want(t, tw, 1, 2)
		require.NoError(t, sold(t, tw, 5).Commit())
		_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{Notice: time.Millisecond})
		require.NoError(t, err)
		require.EqualValues(t, 9995, harness.Number(t, tw.Direct, stockOf))
		require.EqualValues(t, 10000, harness.Number(t, tw.Direct, "SELECT stock FROM item WHERE id = 2"))
	})
}

// TestReserveIdle proves that an item which nobody has wanted for half a minute loses its reserved rows
// with the next rollup, and not before.
func TestReserveIdle(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newShop(t, srv, reserved())
		want(t, tw, 1)
		there := func() int64 {
			harness.RollUp(t, tw.Ours)
			require.Zero(t, inReserve(t, tw, 1))
			return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM item_slots WHERE slot >= 64512")
		}
		for range 2 {
			require.NotZero(t, there())
			time.Sleep(13 * time.Second)
		}
		require.Zero(t, there())
		require.EqualValues(t, 10000, harness.Number(t, tw.Direct, "SELECT CAST(stock AS SIGNED) FROM item WHERE id = 1"))
	})
}
