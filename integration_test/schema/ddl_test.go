package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
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
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		scripts := both
		if harness.MariaDB(srv) {
			scripts = slices.Concat(both, mariaOnly)
		}
		for _, steps := range scripts {
			tw := harness.NewTwin(t, srv, ddlTable, harness.Counters("post", "likes"))
			tw.Play(t, slices.Concat([]string{"A: UPDATE post SET likes = likes + 5 WHERE id = 1"}, steps, []string{"A: SELECT * FROM post ORDER BY id"})...)
		}
	})
}

// TestDDLOfNamesakes proves that DDL of a table in another database leaves the
// slots alone that belong to ours of the same name.
func TestDDLOfNamesakes(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, stmt := range []string{"DROP TABLE %.post", "TRUNCATE %.post", "TRUNCATE TABLE % . post", "USE %; DROP TABLE post", "USE %; TRUNCATE TABLE post", "LOCK TABLES %.post WRITE"} {
			tw := harness.NewTwin(t, srv, ddlTable, harness.Counters("post", "likes"), "multiStatements=true")
			other := harness.NewDatabase(t, srv)
			harness.Affected(t, tw.Direct, "CREATE TABLE "+other+".post (id INT PRIMARY KEY, likes INT)")
			harness.Affected(t, tw.Direct, "INSERT INTO "+other+".post VALUES (1, 1)")
			require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 5 WHERE id = 1"))
			c := harness.Session(t, tw.Ours)
			harness.Affected(t, c, strings.ReplaceAll(stmt, "%", other))
			require.EqualValues(t, 15, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"), stmt)
			require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 1"), stmt)
			harness.Affected(t, c, "UNLOCK TABLES")
		}
	})
}

// TestTypesOfSlots proves that a counter or a touch column which gets other
// digits keeps them in its slots, and that slots with more digits can be folded.
func TestTypesOfSlots(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, score DECIMAL(10,2) NOT NULL DEFAULT 0, seen DATETIME NULL ON UPDATE CURRENT_TIMESTAMP);\nINSERT INTO post (id) VALUES (1), (2);\n"
	add := func(d string) string { return "A: UPDATE post SET score = score + " + d + " WHERE id = 1" }
	alter := func(to string) string { return "A: ALTER TABLE post MODIFY " + to }
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, steps := range [][]string{
			{add("1.5"), alter("score DECIMAL(10,4) NOT NULL DEFAULT 0"), add("0.0005")},
			{add("1.5"), alter("score DECIMAL(10,4) NOT NULL DEFAULT 0"), add("0.0005"), alter("score DECIMAL(10,1) NOT NULL DEFAULT 0"), add("0.5")},
			{add("1.5"), alter("score INT NOT NULL DEFAULT 0"), add("5"), alter("score DECIMAL(10,1) NOT NULL DEFAULT 0"), add("0.4"), add("0.4")},
			{add("1"), alter("score BIGINT UNSIGNED NOT NULL DEFAULT 0"), add("5"), add("-1")},
			{add("1"), alter("seen DATETIME(6) NULL ON UPDATE CURRENT_TIMESTAMP(6)"), add("5")},
			{add("1"), alter("id BIGINT NOT NULL"), add("1"), "A: UPDATE post SET id = 5000000000 WHERE id = 1", "A: UPDATE post SET score = score + 1 WHERE id = 5000000000"},
			{add("1"), alter("id VARCHAR(9) CHARACTER SET ascii NOT NULL"), add("1")},
		} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "score"), "timestamp=1700000000.654321")
			tw.Play(t, slices.Concat(steps, []string{"A: SELECT * FROM post ORDER BY id", "A: UPDATE post SET score = GREATEST(score, 0)", "A: SELECT * FROM post ORDER BY id"})...)
		}
	})
}

// TestForeignDigits proves that nothing panics and nothing is lost where another
// client gives a counter more digits, which the driver does not know yet.
func TestForeignDigits(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, score DECIMAL(10,2) NOT NULL DEFAULT 0);\nINSERT INTO post VALUES (1, 1.5)", harness.Counters("post", "score"))
		tw.Accepted(t, "A: UPDATE post SET score = score + 1.25 WHERE id = 1", "O: ALTER TABLE post MODIFY score DECIMAL(12,4) NOT NULL",
			"A: UPDATE post SET score = GREATEST(score, 0) WHERE id = 1", "O: SELECT score FROM post")
	})
}
