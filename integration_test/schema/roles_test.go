package schema

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRoles proves that a user may have all his privileges by a role.
func TestRoles(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock"))
		role := fmt.Sprintf("itg_role_%d", os.Getpid())
		harness.Affected(t, tw.Direct, "DROP ROLE IF EXISTS "+role)
		harness.Affected(t, tw.Direct, "CREATE ROLE "+role)
		harness.Dropped(t, tw, "ROLE "+role)
		harness.Affected(t, tw.Direct, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+harness.DbName(t, tw.Ours)+".* TO "+role)
		account, dsn := harness.NewUser(t, tw, "by_role", role)
		word := "TO"
		if harness.MariaDB(srv) {
			word = "FOR"
		}
		harness.Affected(t, tw.Direct, "SET DEFAULT ROLE "+role+" "+word+" "+account)
		for _, sees := range []bool{false, true} {
			db, _ := harness.OpenOurs(t, dsn, tw.Config)
			harness.Affected(t, db, "UPDATE item SET stock = stock + 1 WHERE id = 1")
			findings, err := countermysql.Check(t.Context(), db)
			require.NoError(t, err)
			require.Empty(t, harness.OnTables(findings))
			require.Equal(t, !sees, strings.Contains(fmt.Sprint(findings), "may not see triggers"), "%v", findings)
			harness.Affected(t, tw.Direct, "GRANT TRIGGER ON "+harness.DbName(t, tw.Ours)+".* TO "+role)
		}
		require.EqualValues(t, 2, harness.Number(t, tw.Ours, "SELECT stock FROM item WHERE id = 1"))
	})
}

// TestSetRole proves that a session which sees a counter table by a role that it has set
// fails there, as the look-up connections have not the role: it would read base rows alone.
func TestSetRole(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock"))
		role := fmt.Sprintf("itg_set_role_%d", os.Getpid())
		harness.Affected(t, tw.Direct, "DROP ROLE IF EXISTS "+role)
		harness.Affected(t, tw.Direct, "CREATE ROLE "+role)
		harness.Dropped(t, tw, "ROLE "+role)
		harness.Affected(t, tw.Direct, "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON "+harness.DbName(t, tw.Ours)+".* TO "+role)
		_, dsn := harness.NewUser(t, tw, "set_role", role, "EXECUTE ON "+harness.DbName(t, tw.Ours)+".*")
		harness.Affected(t, tw.Ours, "UPDATE item SET stock = stock + 7 WHERE id = 1")
		db, _ := harness.OpenOurs(t, dsn, tw.Config)
		conn := harness.Session(t, db)
		_, err := conn.ExecContext(t.Context(), "UPDATE item SET stock = 0")
		require.Equal(t, 1142, harness.ErrorNumber(err))
		harness.Affected(t, conn, "SET ROLE "+role)
		for _, stmt := range []string{"UPDATE item SET stock = stock * 2 WHERE id = 1", "SELECT stock FROM item", "DELETE FROM item"} {
			_, err := conn.ExecContext(t.Context(), stmt)
			var unfit *countermysql.UnfitError
			require.ErrorAs(t, err, &unfit, stmt)
			require.ErrorContains(t, err, "SET DEFAULT ROLE")
		}
		harness.Affected(t, conn, "CREATE TABLE others (id INT PRIMARY KEY)")
		harness.Affected(t, conn, "INSERT INTO others VALUES (1)")
		require.EqualValues(t, 7, harness.Number(t, tw.Ours, "SELECT stock FROM item WHERE id = 1"))
		harness.Affected(t, tw.Direct, "DROP TABLE item")
		harness.Affected(t, conn, "CREATE TABLE item (id INT PRIMARY KEY)")
		harness.Affected(t, tw.Direct, "DROP TABLE item")
		_, err = conn.ExecContext(t.Context(), "DELETE FROM item")
		require.Equal(t, 1146, harness.ErrorNumber(err))
	})
}

// TestGrantedLater proves that rights on the database which a process gets later are noticed by its first statement of
// a new connection, as with plain: older connections go by those that they have begun with.
func TestGrantedLater(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, first := range []string{"SELECT stock FROM item WHERE id = 1", "UPDATE item SET stock = stock * 2 WHERE id = 1", "UPDATE item SET stock = 7 WHERE id = 1", "UPDATE item SET stock = stock + 1 WHERE id = 1"} {
			t.Run(first, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, harness.Shop+";\nCREATE TABLE others (id INT PRIMARY KEY)", harness.Counters("item", "stock"))
				harness.Affected(t, tw.Plain, "UPDATE item SET stock = stock + 7 WHERE id = 1")
				harness.Affected(t, tw.Direct, "INSERT INTO item_slots (id, slot, stock) VALUES (1, 3, 7)")
				account, dsn := harness.NewUser(t, tw, "granted_later", "SELECT ON "+harness.DbName(t, tw.Ours)+".others")
				config := *tw.Config
				config.CreateSlots = false
				db, _ := harness.OpenOurs(t, dsn, &config)
				_, err := db.Exec("UPDATE item SET stock = 0")
				require.Equal(t, 1142, harness.ErrorNumber(err))
				harness.Affected(t, tw.Direct, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+harness.DbName(t, tw.Ours)+".* TO "+account)
				db.SetMaxIdleConns(-1)
				for _, stmt := range []string{first, "SELECT stock FROM item ORDER BY id"} {
					require.Equal(t, harness.PlayOn(t, tw.Plain, []string{"A: " + stmt}), harness.PlayOn(t, db, []string{"A: " + stmt}), stmt)
				}
			})
		}
	})
}
