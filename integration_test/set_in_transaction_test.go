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
