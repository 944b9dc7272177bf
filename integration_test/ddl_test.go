package integration_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

const ddlTable = "CREATE TABLE post (id INT PRIMARY KEY AUTO_INCREMENT, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post VALUES (1, 10), (2, 20);\n"

// TestSpellingsOfDDL proves that each way to write DDL takes the slots along: a
// new table of the old name does not find them, a changed one has lost none.
func TestSpellingsOfDDL(t *testing.T) {
	again := []string{"A: CREATE TABLE post (id INT PRIMARY KEY AUTO_INCREMENT, likes INT NOT NULL DEFAULT 0)", "A: INSERT INTO post (likes) VALUES (0)"}
	both := [][]string{
		append([]string{"A: DROP TABLES post"}, again...),
		append([]string{"A: DROP TABLES IF EXISTS nosuch, post"}, again...),
		{"A: TRUNCATE post", again[1]},
		{"A: DROP TABLE post, nosuch", again[0], again[1]}, // MariaDB drops post, MySQL nothing
		{"A: RENAME TABLES post TO article", "A: RENAME TABLE article TO post"},
	}
	mariaOnly := [][]string{
		{"A: CREATE OR REPLACE TABLE post (id INT PRIMARY KEY AUTO_INCREMENT, likes INT NOT NULL DEFAULT 0)", again[1]},
		{"A: CREATE TABLE other LIKE post", "A: CREATE OR REPLACE TABLE post LIKE other", again[1]},
		{"A: CREATE TABLE other (id INT, x INT)", "A: CREATE OR REPLACE TABLE other LIKE post", "A: INSERT INTO other VALUES (1, 1)"},
		{"A: ALTER ONLINE TABLE post ADD COLUMN title INT"},
		{"A: ALTER IGNORE TABLE post CHANGE likes hearts INT"},
		{"A: ALTER ONLINE IGNORE TABLE post MODIFY id BIGINT NOT NULL"},
	}
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		scripts := both
		if mariaDB(srv) {
			scripts = slices.Concat(both, mariaOnly)
		}
		for _, steps := range scripts {
			tw := newTwin(t, srv, ddlTable, counters("post", "likes"))
			tw.play(t, slices.Concat([]string{"A: UPDATE post SET likes = likes + 5 WHERE id = 1"}, steps, []string{"A: SELECT * FROM post ORDER BY id"})...)
		}
	})
}

// TestDDLOfNamesakes proves that DDL of a table in another database leaves the
// slots alone that belong to ours of the same name.
func TestDDLOfNamesakes(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range []string{"DROP TABLE %.post", "TRUNCATE %.post", "TRUNCATE TABLE % . post", "USE %; DROP TABLE post", "USE %; TRUNCATE TABLE post", "LOCK TABLES %.post WRITE"} {
			tw := newTwin(t, srv, ddlTable, counters("post", "likes"), "multiStatements=true")
			other := newDatabase(t, srv)
			affected(t, tw.direct, "CREATE TABLE "+other+".post (id INT PRIMARY KEY, likes INT)")
			affected(t, tw.direct, "INSERT INTO "+other+".post VALUES (1, 1)")
			require.EqualValues(t, 1, affected(t, tw.ours, "UPDATE post SET likes = likes + 5 WHERE id = 1"))
			c := session(t, tw.ours)
			affected(t, c, strings.ReplaceAll(stmt, "%", other))
			require.EqualValues(t, 15, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"), stmt)
			require.EqualValues(t, 1, affected(t, tw.ours, "UPDATE post SET likes = likes + 1 WHERE id = 1"), stmt)
			affected(t, c, "UNLOCK TABLES")
		}
	})
}
