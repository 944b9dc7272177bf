package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestWordsOfComments proves that what a comment says of a table is no part of its definition,
// and that the definition is.
func TestWordsOfComments(t *testing.T) {
	type table struct{ table, refused string }
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tables := []table{
			{"CREATE TABLE p (id INT PRIMARY KEY COMMENT 'PARTITION BY (n)', n INT NOT NULL DEFAULT 0)", ""},
			{"CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0) COMMENT='it is not WITH SYSTEM VERSIONING'", ""},
			{"CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0) COMMENT='to do: PARTITION BY RANGE (n), it''s large'", ""},
			{"CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, `PARTITION BY` INT) PARTITION BY HASH (id)", ""},
			{"CREATE TABLE p (id INT, n INT NOT NULL DEFAULT 0, PRIMARY KEY (id, n)) COMMENT='c:\\\\' PARTITION BY HASH (n)", "counter n is part of the key"},
			{"CREATE TABLE p (id INT, n INT NOT NULL DEFAULT 0) COMMENT='it''s \\\\' PARTITION BY HASH (n)", "counter n is in the partitioning key"},
		}
		if harness.MariaDB(srv) { // MySQL has no versioning
			tables = append(tables, table{"CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0) COMMENT='a ''\\\\' WITH SYSTEM VERSIONING", "it is system-versioned"})
		}
		for _, test := range tables {
			for _, mode := range []string{"STRICT_TRANS_TABLES", "NO_BACKSLASH_ESCAPES"} {
				tw := harness.NewTwin(t, srv, test.table+";\nINSERT INTO p (id) VALUES (1)", harness.Counters("p", "n"), "sql_mode='"+mode+"'")
				_, err := tw.Ours.Exec("UPDATE p SET n = n + 1 WHERE id = 1")
				if test.refused == "" {
					require.NoError(t, err, test.table)
					continue
				}
				var unfit *countermysql.UnfitError
				require.ErrorAs(t, err, &unfit, test.table)
				require.Contains(t, unfit.Error(), test.refused)
			}
		}
	})
}
