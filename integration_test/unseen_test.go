package integration_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// newUser creates a user with privileges on our database and returns his account and DSN.
func newUser(t *testing.T, tw *twin, name string, grants ...string) (account, dsn string) {
	t.Helper()
	cfg, err := mysql.ParseDSN(tw.oursDSN)
	require.NoError(t, err)
	cfg.User, cfg.Passwd = fmt.Sprintf("itg_%s_%d", name, os.Getpid()), "secret"
	account = "'" + cfg.User + "'@'127.0.0.1'"
	affected(t, tw.direct, "DROP USER IF EXISTS "+account)
	affected(t, tw.direct, "CREATE USER "+account+" IDENTIFIED BY 'secret'")
	dropped(t, tw, "USER "+account)
	for _, grant := range grants {
		affected(t, tw.direct, "GRANT "+grant+" TO "+account)
	}
	return account, cfg.FormatDSN()
}

// dropped drops a user or role at the end of the test.
func dropped(t *testing.T, tw *twin, what string) {
	t.Helper()
	t.Cleanup(func() {
		_, err := tw.direct.ExecContext(context.WithoutCancel(t.Context()), "DROP "+what)
		require.NoError(t, err)
	})
}

// TestUnseenSlots proves that who may not see the slots table is told so, with the
// statement that mends it, wherever a missing one would be reported, and that Rollup and
// Drop do not seem to succeed: what is in slots would be lost.
func TestUnseenSlots(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, shop, counters("item", "stock"))
		affected(t, tw.ours, "UPDATE item SET stock = stock + 5 WHERE id = 1")
		_, dsn := newUser(t, tw, "unseen", "SELECT, INSERT, UPDATE, DELETE, TRIGGER ON "+dbName(t, tw.ours)+".item")
		var grant string
		for _, create := range []bool{true, false} {
			config := *tw.config
			config.CreateSlots = create
			db, _ := openOurs(t, dsn, &config)
			_, err := db.Exec("UPDATE item SET stock = stock + 1 WHERE id = 1")
			_, rerr := countermysql.Rollup(t.Context(), db, nil)
			_, derr := countermysql.Drop(t.Context(), db, &countermysql.DropOptions{StopOnly: true, Notice: 1})
			_, ierr := countermysql.Init(t.Context(), db, nil)
			for _, err := range []error{err, rerr, derr, ierr} {
				var slots *countermysql.SlotsTableError
				require.ErrorAs(t, err, &slots)
				require.True(t, slots.Unseen)
				require.Equal(t, 1142, errorNumber(err))
				require.ErrorContains(t, err, "may not see the slots table item_slots")
				require.ErrorContains(t, err, "SELECT command denied")
			}
			findings, err := countermysql.Check(t.Context(), db)
			require.NoError(t, err)
			findings = onTables(findings)
			require.Len(t, findings, 1)
			require.Equal(t, countermysql.Failure, findings[0].Severity)
			require.Contains(t, findings[0].Problem, "may not see its slots table item_slots")
			grant = findings[0].SQL
		}
		affected(t, tw.direct, grant)
		config := *tw.config
		config.CreateSlots = false
		db, _ := openOurs(t, dsn, &config)
		affected(t, db, "UPDATE item SET stock = stock + 1 WHERE id = 1")
		require.EqualValues(t, 6, number(t, db, "SELECT stock FROM item WHERE id = 1"))
		findings, err := countermysql.Check(t.Context(), db)
		require.NoError(t, err)
		require.Empty(t, onTables(findings))
	})
}
