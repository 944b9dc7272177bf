package operations

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestBusySlotsTable proves that drop and init wait for a transaction that uses the slots table for longer than their DDL does at
// a time, as many do in turn beside a reserve, and that they say what to do where it lasts.
func TestBusySlotsTable(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock", "sold"))
		harness.Affected(t, tw.Ours, "UPDATE item SET sold = sold + 1 WHERE id = 1")
		stop := func() error {
			_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{StopOnly: true, Notice: time.Millisecond})
			return err
		}
		open := func() error {
			_, err := countermysql.Init(t.Context(), tw.Ours, nil)
			return err
		}
		for _, do := range []func() error{stop, open} {
			tx, err := tw.Direct.Begin()
			require.NoError(t, err)
			defer tx.Rollback()
			harness.Number(t, tx, "SELECT COUNT(*) FROM item_slots")
			ended := make(chan error, 1)
			time.AfterFunc(2500*time.Millisecond, func() { ended <- tx.Rollback() })
			require.NoError(t, do())
			require.NoError(t, <-ended)
		}
		tx, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		harness.Number(t, tx, "SELECT COUNT(*) FROM item_slots")
		err = stop()
		require.Equal(t, 1205, harness.ErrorNumber(err))
		require.ErrorContains(t, err, "item")
		require.ErrorContains(t, err, "try again when no long transaction is open")
	})
}
