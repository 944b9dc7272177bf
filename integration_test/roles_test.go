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
