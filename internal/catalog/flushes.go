package catalog

import "github.com/countermysql/countermysql/internal/sqltext"

// FlushesTable is the name of the table, one in a database, in which a process leaves the
// number of each statement, or transaction, that stores what it has buffered.
const FlushesTable = "countermysql_flushes"

// Flushes is that of a database.
func Flushes(db string) string { return sqltext.Quote(db) + "." + FlushesTable }

// CreateFlushes makes it.
func CreateFlushes(db string) string {
	return "CREATE TABLE IF NOT EXISTS " + Flushes(db) + " (flusher CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, of_table VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL, " +
		"batch BIGINT UNSIGNED NOT NULL, settled BIGINT UNSIGNED NOT NULL DEFAULT 0, stored_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (flusher)) ENGINE=InnoDB"
}
