package main

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestExistingApp proves that the program does the same with and without the
// environment variable, and that the variable alone gives it slots.
func TestExistingApp(t *testing.T) {
	servers, err := testserver.FromEnv(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			const name = "countermysql_existing_app"
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			for _, stmt := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name} {
				_, err := admin.Exec(stmt)
				require.NoError(t, err)
			}
			for tables, file := range []string{"", "counters.yaml"} {
				t.Setenv("COUNTERMYSQL_CONFIG", file)
				text, err := shop(t.Context(), srv.DSN(name))
				require.NoError(t, err)
				require.Equal(t, "ann: bought\nbob: bought\neve: sold out\n0 left, 2 sold\n", text)
				var n int
				require.NoError(t, admin.QueryRow("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = 'item_slots'", name).Scan(&n))
				require.Equal(t, tables, n)
			}
			_, err = admin.Exec("DROP DATABASE " + name)
			require.NoError(t, err)
		})
	}
}
