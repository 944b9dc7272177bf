package integration_test

import (
	"testing"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCopy proves that tables made from a counter table hold the counters,
// however the statement spells it.
func TestCopy(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		tw.play(t, "A: CREATE VIEW likes_of_post AS SELECT likes FROM post")
		for _, create := range []string{
			"CREATE TABLE copy AS SELECT * FROM post WHERE title <> 'a view of it'",
			"CREATE TABLE copy /* no VIEW */ SELECT id, likes FROM post",
			"CREATE TABLE copy TABLE post", "CREATE TABLE copy (TABLE post)", "CREATE TEMPORARY TABLE copy TABLE post",
			"CREATE VIEW copy AS SELECT likes FROM post", "CREATE TABLE copy SELECT * FROM likes_of_post",
		} {
			tw.reset(t)
			drop := "A: DROP TABLE IF EXISTS copy"
			if create[:11] == "CREATE VIEW" {
				drop = "A: DROP VIEW copy"
			}
			tw.play(t, "A: "+create, "A: SELECT likes FROM copy ORDER BY likes", drop)
		}
	})
}
