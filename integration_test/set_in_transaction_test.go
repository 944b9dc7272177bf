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
