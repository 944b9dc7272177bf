package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestCopy proves that tables made from a counter table hold the counters,
// however the statement spells it.
func TestCopy(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tw.Play(t, "A: CREATE VIEW likes_of_post AS SELECT likes FROM post")
		for _, create := range []string{
			"CREATE TABLE copy AS SELECT * FROM post WHERE title <> 'a view of it'",
			"CREATE TABLE copy /* no VIEW */ SELECT id, likes FROM post",
			"CREATE TABLE copy TABLE post", "CREATE TABLE copy (TABLE post)", "CREATE TEMPORARY TABLE copy TABLE post",
			"CREATE VIEW copy AS SELECT likes FROM post", "CREATE TABLE copy SELECT * FROM likes_of_post",
		} {
			tw.Reset(t)
			drop := "A: DROP TABLE IF EXISTS copy"
			if create[:11] == "CREATE VIEW" {
				drop = "A: DROP VIEW copy"
			}
			tw.Play(t, "A: "+create, "A: SELECT likes FROM copy ORDER BY likes", drop)
		}
	})
}
