package writes

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestByteKeysInOldSnapshots proves that a row written by a key of []byte is read as it is
// now and all others as of the snapshot, as after a write by a string. With
// interpolateParams the key goes as a binary string: an upsert finds a row by it that a
// comparison does not.
func TestByteKeysInOldSnapshots(t *testing.T) {
	t.Parallel()
	columns := map[string][]string{ // the first two are there
		"VARCHAR(20)":                            {"one", "two", "ONE", "new", "größe", "GRÖSSE"},
		"VARCHAR(20) COLLATE utf8mb4_bin":        {"one", "two", "ONE", "größe"},
		"VARCHAR(20) CHARACTER SET utf8mb3":      {"größe", "two", "GRÖSSE", "Größe"},
		"CHAR(20) CHARACTER SET latin1":          {"one", "two", "ONE"},
		"VARBINARY(20)":                          {"one", "two", "ONE"},
		"BINARY(3)":                              {"one", "two"},
		"ENUM('one','two','größe')":              {"one", "größe"},
		"INT":                                    {"1", "2", "3"},
		"DATE":                                   {"2026-01-01", "2026-01-02"},
		"DATETIME(3)":                            {"2026-01-01 10:00:00.123", "2026-01-01 10:00:00"},
		"VARCHAR(20) COLLATE utf8mb4_general_ci": {"a", "b", "A", "ä", "Ä"},
	}
	writes := []string{
		"INSERT INTO t (k, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = n + 1",
		"INSERT INTO t (k, n) VALUES (?, 1), (?, 2) ON DUPLICATE KEY UPDATE n = n + VALUES(n)",
		"INSERT INTO t (k, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE title = 'x'",
		"INSERT INTO t (k, n) VALUES (?, 1) ON DUPLICATE KEY UPDATE n = GREATEST(n + 1, 0)",
		"UPDATE t SET title = 'x' WHERE k = ?",
		"UPDATE t SET n = n + 1 WHERE k = ?",
		"UPDATE t SET n = n + 1, title = 'x' WHERE k = ?",
		"UPDATE t SET n = GREATEST(n + 1, 0) WHERE k = ?",
		"UPDATE t SET n = n - 1 WHERE k = ? AND n >= 1",
		"DELETE FROM t WHERE k = ?",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, interpolate := range []string{"true", "false"} {
			for column, keys := range columns {
				if interpolate == "false" && column != "VARCHAR(20)" && column != "DATETIME(3)" && column != "VARBINARY(20)" {
					continue // the server gets the bytes themselves
				}
				t.Run(column+"/"+interpolate, func(t *testing.T) {
					tw := harness.NewTwin(t, srv, "CREATE TABLE t (k "+column+" NOT NULL PRIMARY KEY, title VARCHAR(20) NOT NULL DEFAULT '', n INT NOT NULL DEFAULT 0)",
						harness.Counters("t", "n"), "interpolateParams="+interpolate)
					for _, write := range writes {
						for _, key := range keys {
							require.Equal(t, byteKey(t, tw.Plain, keys, write, key), byteKey(t, tw.Ours, keys, write, key), "%s, %q", write, key)
						}
					}
				})
			}
		}
	})
}

// byteKey is what a transaction is told that writes with an old snapshot.
func byteKey(t *testing.T, db *sql.DB, keys []string, write, key string) (answers []string) {
	t.Helper()
	harness.Affected(t, db, "DELETE FROM t")
	harness.Affected(t, db, "INSERT INTO t (k, n) VALUES (?, 5), (?, 7)", keys[0], keys[1])
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	require.NoError(t, err)
	defer tx.Rollback()
	read := func(db harness.Querier) {
		answers = append(answers, harness.Queried(t.Context(), db, "SELECT k, title, n FROM t ORDER BY k"))
	}
	read(tx)
	for _, k := range keys[:2] {
		harness.Affected(t, db, "UPDATE t SET n = n + 100 WHERE k = ?", k)
	}
	_, err = tx.ExecContext(t.Context(), write, slices.Repeat([]any{[]byte(key)}, strings.Count(write, "?"))...)
	answers = append(answers, harness.Told(err))
	read(tx)
	read(tx)
	require.NoError(t, tx.Commit())
	read(db)
	return answers
}
