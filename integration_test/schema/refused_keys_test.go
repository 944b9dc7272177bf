package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRefusedKeys proves that it is said why a primary key is none for slots: a part of a column,
// more columns or bytes than the slots table's key has room for beside the slot's number.
func TestRefusedKeys(t *testing.T) {
	var columns, key []string
	for i := range 32 {
		key = append(key, fmt.Sprintf("k%d", i))
		columns = append(columns, key[i]+" INT NOT NULL")
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		parts := 16
		if srv.Flavor() == testserver.MariaDB {
			parts = 32
		}
		for table, problem := range map[string]string{
			"CREATE TABLE p (id VARCHAR(20), n INT NOT NULL DEFAULT 0, PRIMARY KEY (id(10)));\nINSERT INTO p (id) VALUES ('a'), ('b')":              "it has a primary key with a part of a column alone",
			"CREATE TABLE p (id VARCHAR(768), n INT NOT NULL DEFAULT 0, PRIMARY KEY (id)) CHARACTER SET utf8mb4":                                    "its key is too wide",
			"CREATE TABLE p (" + strings.Join(columns, ", ") + ", n INT NOT NULL DEFAULT 0, PRIMARY KEY (" + strings.Join(key[:parts], ", ") + "))": "its key is too wide",
		} {
			config := harness.Counters("p", "n")
			config.CreateSlots = false
			db := harness.NewDatabase(t, srv)
			harness.ExecAll(t, harness.Open(t, srv.DSN(db)), table)
			ours, _ := harness.OpenOurs(t, srv.DSN(db), config)
			_, err := countermysql.Init(t.Context(), ours, nil)
			require.ErrorContains(t, err, problem)
		}
	})
}
