package schema

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSchemaUnderModes proves that the driver learns the same of a table whatever the
// sql_mode of the DSN: the indexes that order by a counter, and system versioning.
func TestSchemaUnderModes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		modes := []string{"ANSI_QUOTES", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES"}
		if harness.MariaDB(srv) {
			modes = append(modes, "ORACLE", "MSSQL")
		}
		for _, mode := range modes {
			tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL, title VARCHAR(9) NOT NULL DEFAULT '', KEY (likes));\nINSERT INTO post (id, likes) VALUES (1, 3), (2, 4)", harness.Counters("post", "likes"), "sql_mode='"+mode+"'")
			sent := tw.Sent.During(func() {
				tw.Play(t, "A: UPDATE post SET likes = likes + 2 WHERE id = 1", "A: SELECT id, likes FROM post ORDER BY likes DESC LIMIT 1")
			})
			require.Contains(t, fmt.Sprint(sent), "UNION ALL", "the index is known")
			if !harness.MariaDB(srv) {
				continue // MySQL has no system versioning
			}
			_, err := tw.Ours.Exec("ALTER TABLE post ADD SYSTEM VERSIONING")
			require.NoError(t, err)
			harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1")
			require.Contains(t, fmt.Sprint(harness.Stats(t, tw.Ours).Degraded), "system-versioned", mode)
		}
	})
}
