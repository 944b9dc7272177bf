package transactions

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSetAutocommit proves that every way to switch autocommit on commits what is
// open, pending increments too.
func TestSetAutocommit(t *testing.T) {
	const like = "A: UPDATE post SET likes = likes + 100 WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, both := range [][]string{
			{"SET @@autocommit = 0", "SET @@autocommit = 1"},
			{"SET @@session.autocommit = OFF", "SET @@session.autocommit := ON"},
			{"SET @@LOCAL.autocommit = 0, @x = 1", "SET @x = 2, @@LOCAL.autocommit = 1"},
			{"SET SESSION `autocommit` = 'OFF'", "SET SESSION `autocommit` = 'ON'"},
		} {
			tw.Reset(t)
			tw.Play(t, slices.Concat([]string{"A: " + both[0], like, "A: " + both[1], like, "A: ROLLBACK"}, harness.Everything)...)
		}
	})
}

// TestLevelOfTransaction proves that a transaction keeps the isolation level that it
// has begun with, and that @@transaction_isolation without a scope is for the next one,
// and no other: also where BEGIN ends that.
func TestLevelOfTransaction(t *testing.T) {
	reads := []string{"A: SELECT * FROM note", "A: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", rollUp1,
		"A: UPDATE post SET title = 'x' WHERE id = 1", "A: SELECT likes FROM post ORDER BY id", "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: SELECT likes FROM post ORDER BY id", "A: COMMIT",
		"A: BEGIN", "A: SELECT likes FROM post ORDER BY id", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", "A: SELECT likes FROM post ORDER BY id", "A: COMMIT"}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		isolation := "@@transaction_isolation"
		if harness.MariaDB(srv) {
			isolation = "@@tx_isolation"
		}
		const committed, repeatable = "A: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
		for _, begin := range [][]string{
			{repeatable, "A: BEGIN"},
			{committed, "A: BEGIN", "A: SET @x = 1", repeatable},
			{committed, "A: SET " + isolation + " = 'REPEATABLE-READ', @x = 1", "A: BEGIN"},
			{repeatable, "A: SET " + isolation + " = 'READ-COMMITTED'", "A: BEGIN"},
			{repeatable, "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: BEGIN", "A: UPDATE post SET likes = likes + 2 WHERE id = 1", "A: START TRANSACTION"},
			{committed, "A: SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "A: BEGIN", "A: SELECT likes FROM post WHERE id = 1", "A: BEGIN"},
		} {
			tw.Reset(t)
			tw.Play(t, slices.Concat(begin, reads, harness.Everything)...)
		}
	})
}

// TestNextLevel proves that a transaction has the isolation level that was set last for
// it, or for the session, however that is written.
func TestNextLevel(t *testing.T) {
	const committed, session = "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: SET SESSION TRANSACTION ISOLATION LEVEL "
	reads := []string{"A: BEGIN", "A: SELECT likes FROM post ORDER BY id", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", rollUp1, "A: UPDATE post SET title = 'x' WHERE id = 2",
		"A: UPDATE post SET title = CONCAT(title, 'x') WHERE id = 1", "B: UPDATE post SET likes = likes + 7 WHERE id = 3", "A: SELECT likes FROM post ORDER BY id", "A: COMMIT"}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		v := "transaction_isolation"
		if harness.MariaDB(srv) {
			v = "tx_isolation"
		}
		for _, set := range [][]string{
			{committed, session + "REPEATABLE READ"},
			{committed, "A: SET SESSION " + v + " = 'REPEATABLE-READ'"},
			{committed, "A: SET " + v + " = 'REPEATABLE-READ', @x = 1"},
			{committed, "A: SET SESSION TRANSACTION READ WRITE"},
			{committed, "A: SET @@" + v + " = 'nonsense'"},
			{"A: SET @@" + v + " = 1"},
			{session + "READ COMMITTED", "A: SET @@" + v + " := 2"},
			{"A: SET @level = 'READ-COMMITTED'", "A: SET @x = 2, @@" + v + " = @level, @y = 3"},
			{"A: SET @@" + v + " = CONCAT('READ', '-COMMITTED')"},
			{"A: SET @@" + v + " = `READ-COMMITTED`"},
			{session + "READ COMMITTED", "A: SET @@" + v + " = DEFAULT"},
			{session + "READ COMMITTED", "A: SELECT likes FROM post WHERE id = 3", "A: SET @@" + v + " = @@global." + v},
		} {
			tw.Reset(t)
			tw.Play(t, slices.Concat([]string{session + "REPEATABLE READ"}, set, reads, reads, harness.Everything)...)
		}
	})
}

// TestReadOtherwise proves that increments of a transaction are those that were made, also
// where it sets a time zone or character set by which their texts mean something else.
func TestReadOtherwise(t *testing.T) {
	const schema = `
CREATE TABLE hour (at TIMESTAMP NOT NULL PRIMARY KEY, hits INT NOT NULL DEFAULT 0);
INSERT INTO hour (at) VALUES ('2026-01-01 10:00:00'), ('2026-01-01 15:00:00');
CREATE TABLE word (word VARCHAR(9) PRIMARY KEY, hits INT NOT NULL DEFAULT 0, at TIMESTAMP NOT NULL DEFAULT '2026-01-01 10:00:00' ON UPDATE CURRENT_TIMESTAMP) CHARACTER SET utf8mb4;
INSERT INTO word (word) VALUES ('café'), ('cafÃ©'), ('a\\b');
`
	const hit, count = "A: UPDATE hour SET hits = hits + 5 WHERE at = '2026-01-01 15:00:00'", "A: UPDATE word SET hits = hits + 1 WHERE word IN ('café', 'a\\\\b')"
	const look, recent = "A: SELECT HEX(word), hits FROM word ORDER BY 1", "A: SELECT HEX(word), UNIX_TIMESTAMP(at) - UNIX_TIMESTAMP() BETWEEN -9 AND 1 AS now FROM word ORDER BY 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("hour", "hits")
		config.Tables = append(config.Tables, harness.Counters("word", "hits").Tables...)
		for _, steps := range [][]string{
			{"A: SET time_zone = '+05:00'", hit, "A: SET time_zone = '+00:00'"},
			{count, "A: SET SESSION time_zone = '-07:00'"},
			{count, "A: SET @@session.time_zone = '+09:00'", count},
			{count, "A: SET NAMES latin1"},
			{look, count, look, "A: SET NAMES 'latin1'", look, "A: UPDATE hour SET hits = hits + 1 WHERE hits > -1"},
			{count, "A: SET sql_mode = 'NO_BACKSLASH_ESCAPES'", look},
			{"A: SELECT * FROM hour", hit, "A: UPDATE hour SET hits = hits * 2 WHERE at = '2026-01-01 10:00:00'", "A: SET time_zone = '+05:00'", "A: SELECT * FROM hour ORDER BY at"},
		} {
			for _, level := range []string{"RR", "RC"} {
				tw := harness.NewTwin(t, srv, schema, config)
				tw.Play(t, slices.Concat([]string{"A: SET time_zone = '+00:00'", "A: begin " + level}, steps,
					[]string{"A: commit", "B: SET time_zone = '+00:00'", "B: SELECT * FROM hour ORDER BY at", look, recent})...)
			}
		}
	})
}
