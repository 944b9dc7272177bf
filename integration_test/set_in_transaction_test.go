package integration_test

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSetAutocommit proves that every way to switch autocommit on commits what is
// open, pending increments too.
func TestSetAutocommit(t *testing.T) {
	const like = "A: UPDATE post SET likes = likes + 100 WHERE id = 1"
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		for _, both := range [][]string{
			{"SET @@autocommit = 0", "SET @@autocommit = 1"},
			{"SET @@session.autocommit = OFF", "SET @@session.autocommit := ON"},
			{"SET @@LOCAL.autocommit = 0, @x = 1", "SET @x = 2, @@LOCAL.autocommit = 1"},
			{"SET SESSION `autocommit` = 'OFF'", "SET SESSION `autocommit` = 'ON'"},
		} {
			tw.reset(t)
			tw.play(t, slices.Concat([]string{"A: " + both[0], like, "A: " + both[1], like, "A: ROLLBACK"}, everything)...)
		}
	})
}

// TestLevelOfTransaction proves that a transaction keeps the isolation level that it
// has begun with, and that @@transaction_isolation without a scope is for the next one.
func TestLevelOfTransaction(t *testing.T) {
	reads := []string{"A: SELECT * FROM note", "A: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", rollUp1,
		"A: UPDATE post SET title = 'x' WHERE id = 1", "A: SELECT likes FROM post ORDER BY id", "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: SELECT likes FROM post ORDER BY id", "A: COMMIT",
		"A: BEGIN", "A: SELECT likes FROM post ORDER BY id", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", "A: SELECT likes FROM post ORDER BY id", "A: COMMIT"}
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		isolation := "@@transaction_isolation"
		if mariaDB(srv) {
			isolation = "@@tx_isolation"
		}
		const committed, repeatable = "A: SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
		for _, begin := range [][]string{
			{repeatable, "A: BEGIN"},
			{committed, "A: BEGIN", "A: SET @x = 1", repeatable},
			{committed, "A: SET " + isolation + " = 'REPEATABLE-READ', @x = 1", "A: BEGIN"},
			{repeatable, "A: SET " + isolation + " = 'READ-COMMITTED'", "A: BEGIN"},
		} {
			tw.reset(t)
			tw.play(t, slices.Concat(begin, reads, everything)...)
		}
	})
}

// TestNextLevel proves that a transaction has the isolation level that was set last for
// it, or for the session, however that is written.
func TestNextLevel(t *testing.T) {
	const committed, session = "A: SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "A: SET SESSION TRANSACTION ISOLATION LEVEL "
	reads := []string{"A: BEGIN", "A: SELECT likes FROM post ORDER BY id", "B: UPDATE post SET likes = likes + 7 WHERE id = 1", rollUp1, "A: UPDATE post SET title = 'x' WHERE id = 2",
		"A: UPDATE post SET title = CONCAT(title, 'x') WHERE id = 1", "B: UPDATE post SET likes = likes + 7 WHERE id = 3", "A: SELECT likes FROM post ORDER BY id", "A: COMMIT"}
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		v := "transaction_isolation"
		if mariaDB(srv) {
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
			tw.reset(t)
			tw.play(t, slices.Concat([]string{session + "REPEATABLE READ"}, set, reads, reads, everything)...)
		}
	})
}
