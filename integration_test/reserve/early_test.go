package reserve

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReserveBehindRow proves that who waits for a row when its reserved rows are made, and finds too
// little in it, does not want them, as they hold nothing yet: who needs the row as well has locked
// them before it, and one of the two would get a deadlock that plain MySQL has not.
func TestReserveBehindRow(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for takes, want := range map[string]string{
			"UPDATE item SET stock = stock - 20000 WHERE id = 1 AND stock >= 20000": "affected 0",
			"UPDATE item SET stock = stock - 20000 WHERE id = 1":                    "error 1690",
		} {
			tw := newShop(t, srv, reserved())
			owner, err := tw.Direct.Begin()
			require.NoError(t, err)
			defer owner.Rollback()
			harness.Affected(t, owner, "UPDATE item SET title = 'mine' WHERE id = 1")
			early, err := tw.Ours.Begin()
			require.NoError(t, err)
			t.Cleanup(func() { early.Rollback() })
			harness.Affected(t, early, "INSERT INTO sale (item_id, n) VALUES (2, 1)")
			answer := harness.Later(t, early, takes)
			require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 10*time.Millisecond)
			harness.Affected(t, tw.Direct, "INSERT INTO item_slots (id, slot) WITH RECURSIVE n (i) AS (SELECT 64512 UNION ALL SELECT i + 1 FROM n WHERE i < 64527) SELECT 1, i FROM n")
			late, err := tw.Ours.Begin()
			require.NoError(t, err)
			defer late.Rollback()
			harness.Affected(t, late, "INSERT INTO sale (item_id, n) VALUES (2, 1)")
			read := make(chan string, 1)
			go func() { read <- harness.Queried(t.Context(), late, stockOf+" FOR UPDATE") }()
			harness.Queue() // it has locked them, and waits for the row
			require.NoError(t, owner.Commit())
			require.Equal(t, want, harness.Soon(t, answer))
			require.NoError(t, early.Commit())
			require.Equal(t, "stock UNSIGNED INT, [10000]", harness.Soon(t, read))
			require.NoError(t, late.Commit())
		}
	})
}

// TestReserveFilledBehind proves that reserved rows are filled only when those of the process are over
// who may have looked for them before they were made: these have the row when they find that they need
// what is reserved, others have that when they wait for the row.
func TestReserveFilledBehind(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newShop(t, srv, reserved())
		early, err := tw.Ours.Begin()
		require.NoError(t, err)
		t.Cleanup(func() { early.Rollback() })
		g := harness.NewGateOn(t, tw.Sent, func(query string) bool { return strings.Contains(query, "stock - 9999") })
		answer := harness.Later(t, early, "UPDATE item SET stock = stock - 9999 WHERE id = 1 AND stock >= 9999")
		<-g.Reached
		made := func() bool {
			return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM item_slots WHERE id = 1") == rows+1
		}
		buys := func() {
			tx, err := tw.Ours.Begin()
			require.NoError(t, err)
			harness.Affected(t, tx, buy, 1, 1, 1)
			require.NoError(t, tx.Rollback())
		}
		require.Eventually(t, func() bool { buys(); return made() }, 5*time.Second, 10*time.Millisecond)
		for range 5 {
			time.Sleep(50 * time.Millisecond)
			buys()
			require.Zero(t, inReserve(t, tw, 1))
		}
		g.Open()
		require.Equal(t, "affected 1", harness.Soon(t, answer))
		require.NoError(t, early.Rollback())
		want(t, tw, 1)
	})
}
