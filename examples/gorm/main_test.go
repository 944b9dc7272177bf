package main

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

func TestBlog(t *testing.T) {
	servers, err := testserver.FromEnv(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			const name = "countermysql_gorm_example"
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			for _, stmt := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name} {
				_, err := admin.Exec(stmt)
				require.NoError(t, err)
			}
			text, err := blog(t.Context(), srv.DSN(name, "parseTime=true", "counters=posts.likes,posts.views,tags.uses", "counterCreateSlots=true"))
			require.NoError(t, err)
			require.Equal(t, "\"Hello, GORM\": 80 likes, 80 views; tag go: 80 uses\n", text)
			_, err = admin.Exec("DROP DATABASE " + name)
			require.NoError(t, err)
		})
	}
}
