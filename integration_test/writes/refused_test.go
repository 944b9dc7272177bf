package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestRefusedBeginsNothing proves that a statement which the server refuses begins no
// transaction with autocommit = 0 that it would not begin on the plain driver: the
// next BeginTx may still set its isolation level.
func TestRefusedBeginsNothing(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, wrong := range []string{
			"SELECT views FROM post AS p WHERE p.id IN (4) HAVING likes > 1 LOCK IN SHARE MODE",
			"SELECT likes FROM post WHERE nothing = 1 FOR UPDATE",
			"INSERT INTO post SET id = 7, views = 6 AS `new` ON DUPLICATE KEY UPDATE post.likes = post.likes - `new`.likes, post.nothing = 1",
			"UPDATE post SET likes = likes * 2 WHERE nothing = 1",
			"UPDATE post SET likes = likes * 2 WHER id = 1",
			"DELETE FROM post WHERE likes > 1 AND nothing = 1",
		} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters())
			tw.Play(t, "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SET autocommit = 0", "A: "+wrong, "A: begin RC")
		}
	})
}
