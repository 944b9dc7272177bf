package main

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFlashSale proves that the shop sells what it has, once, and counts every visit, and that
// it does and answers the same on go-sql-driver/mysql.
func TestFlashSale(t *testing.T) {
	servers, err := testserver.FromEnv(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			const name = "countermysql_flash_sale"
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			for _, stmt := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name} {
				_, err := admin.Exec(stmt)
				require.NoError(t, err)
			}
			for driver, params := range map[string][]string{"mysql": nil, "countermysql": {"counters=item.stock,item.visits", "counterCreateSlots=true"}} {
				for buyers, want := range map[int]string{
					150: "150 pages shown, 100 orders taken, 65 refused, 0 failed\n150 visits counted, 100 pieces sold, 0 left\n",
					40:  "40 pages shown, 40 orders taken, 4 refused, 0 failed\n40 visits counted, 40 pieces sold, 60 left\n",
				} {
					s, err := open(driver, srv.DSN(name, params...))
					require.NoError(t, err)
					text, err := s.rush(t.Context(), buyers)
					require.NoError(t, err)
					require.NoError(t, s.db.Close())
					require.Equal(t, want, text, driver)
				}
			}
			_, err = admin.Exec("DROP DATABASE " + name)
			require.NoError(t, err)
		})
	}
}
