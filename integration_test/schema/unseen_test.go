package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestUnseenSlots proves that who may not see the slots table is told so, with the
// statement that mends it, wherever a missing one would be reported, and that Rollup and
// Drop do not seem to succeed: what is in slots would be lost.
func TestUnseenSlots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock"))
		harness.Affected(t, tw.Ours, "UPDATE item SET stock = stock + 5 WHERE id = 1")
		_, dsn := harness.NewUser(t, tw, "unseen", "SELECT, INSERT, UPDATE, DELETE, TRIGGER ON "+harness.DbName(t, tw.Ours)+".item")
		var grant string
		for _, create := range []bool{true, false} {
			config := *tw.Config
			config.CreateSlots = create
			db, _ := harness.OpenOurs(t, dsn, &config)
			_, err := db.Exec("UPDATE item SET stock = stock + 1 WHERE id = 1")
			_, rerr := countermysql.Rollup(t.Context(), db, nil)
			_, derr := countermysql.Drop(t.Context(), db, &countermysql.DropOptions{StopOnly: true, Notice: 1})
			_, ierr := countermysql.Init(t.Context(), db, nil)
			for _, err := range []error{err, rerr, derr, ierr} {
				var slots *countermysql.SlotsTableError
				require.ErrorAs(t, err, &slots)
				require.True(t, slots.Unseen)
				require.Equal(t, 1142, harness.ErrorNumber(err))
				require.ErrorContains(t, err, "may not see the slots table item_slots")
				require.ErrorContains(t, err, "SELECT command denied")
			}
			findings, err := countermysql.Check(t.Context(), db)
			require.NoError(t, err)
			findings = harness.OnTables(findings)
			require.Len(t, findings, 1)
			require.Equal(t, countermysql.Failure, findings[0].Severity)
			require.Contains(t, findings[0].Problem, "may not see its slots table item_slots")
			grant = findings[0].SQL
		}
		harness.Affected(t, tw.Direct, grant)
		config := *tw.Config
		config.CreateSlots = false
		db, _ := harness.OpenOurs(t, dsn, &config)
		harness.Affected(t, db, "UPDATE item SET stock = stock + 1 WHERE id = 1")
		require.EqualValues(t, 6, harness.Number(t, db, "SELECT stock FROM item WHERE id = 1"))
		findings, err := countermysql.Check(t.Context(), db)
		require.NoError(t, err)
		require.Empty(t, harness.OnTables(findings))
	})
}
