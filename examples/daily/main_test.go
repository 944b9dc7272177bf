package main

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

func TestDaily(t *testing.T) {
	servers, err := testserver.FromEnv(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			const name = "countermysql_daily"
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			for _, stmt := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name} {
				_, err := admin.Exec(stmt)
				require.NoError(t, err)
			}
			text, err := daily(t.Context(), srv.DSN(name, "counters=page_view.views,page_view.bytes", "counterCreateSlots=true", "counterRollup=30s"))
			require.NoError(t, err)
			require.Equal(t, "/: 400 views, 819200 bytes\n", text)
			_, err = admin.Exec("DROP DATABASE " + name)
			require.NoError(t, err)
		})
	}
}
