package integration_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRoles proves that a user may have all his privileges by a role.
func TestRoles(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, shop, counters("item", "stock"))
		role := fmt.Sprintf("itg_role_%d", os.Getpid())
		affected(t, tw.direct, "DROP ROLE IF EXISTS "+role)
		affected(t, tw.direct, "CREATE ROLE "+role)
		dropped(t, tw, "ROLE "+role)
		affected(t, tw.direct, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+dbName(t, tw.ours)+".* TO "+role)
		account, dsn := newUser(t, tw, "by_role", role)
		word := "TO"
		if mariaDB(srv) {
			word = "FOR"
		}
		affected(t, tw.direct, "SET DEFAULT ROLE "+role+" "+word+" "+account)
		for _, sees := range []bool{false, true} {
			db, _ := openOurs(t, dsn, tw.config)
			affected(t, db, "UPDATE item SET stock = stock + 1 WHERE id = 1")
			findings, err := countermysql.Check(t.Context(), db)
			require.NoError(t, err)
			require.Empty(t, onTables(findings))
			require.Equal(t, !sees, strings.Contains(fmt.Sprint(findings), "may not see triggers"), "%v", findings)
			affected(t, tw.direct, "GRANT TRIGGER ON "+dbName(t, tw.ours)+".* TO "+role)
		}
		require.EqualValues(t, 2, number(t, tw.ours, "SELECT stock FROM item WHERE id = 1"))
	})
}

// TestSetRole proves that a session which sees a counter table by a role that it has set
// fails there, as the look-up connections have not the role: it would read base rows alone.
func TestSetRole(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, shop, counters("item", "stock"))
		role := fmt.Sprintf("itg_set_role_%d", os.Getpid())
		affected(t, tw.direct, "DROP ROLE IF EXISTS "+role)
		affected(t, tw.direct, "CREATE ROLE "+role)
		dropped(t, tw, "ROLE "+role)
		affected(t, tw.direct, "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP ON "+dbName(t, tw.ours)+".* TO "+role)
		_, dsn := newUser(t, tw, "set_role", role, "EXECUTE ON "+dbName(t, tw.ours)+".*")
		affected(t, tw.ours, "UPDATE item SET stock = stock + 7 WHERE id = 1")
		db, _ := openOurs(t, dsn, tw.config)
		conn := session(t, db)
		_, err := conn.ExecContext(t.Context(), "UPDATE item SET stock = 0")
		require.Equal(t, 1142, errorNumber(err))
		affected(t, conn, "SET ROLE "+role)
		for _, stmt := range []string{"UPDATE item SET stock = stock * 2 WHERE id = 1", "SELECT stock FROM item", "DELETE FROM item"} {
			_, err := conn.ExecContext(t.Context(), stmt)
			var unfit *countermysql.UnfitError
			require.ErrorAs(t, err, &unfit, stmt)
			require.ErrorContains(t, err, "SET DEFAULT ROLE")
		}
		affected(t, conn, "CREATE TABLE others (id INT PRIMARY KEY)")
		affected(t, conn, "INSERT INTO others VALUES (1)")
		require.EqualValues(t, 7, number(t, tw.ours, "SELECT stock FROM item WHERE id = 1"))
		affected(t, tw.direct, "DROP TABLE item")
		affected(t, conn, "CREATE TABLE item (id INT PRIMARY KEY)")
		affected(t, tw.direct, "DROP TABLE item")
		_, err = conn.ExecContext(t.Context(), "DELETE FROM item")
		require.Equal(t, 1146, errorNumber(err))
	})
}
