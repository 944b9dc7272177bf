package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestExponents proves that a number with an exponent ends behind its digits, as to the servers, and
// not before the next blank: of 1e0WHERE the condition was not seen.
func TestExponents(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, step := range []string{
			"A: UPDATE post SET likes = likes + 1e0WHERE id = 1",
			"A: UPDATE post SET likes = likes + 1e+0WHERE id = 1",
			"A: UPDATE post SET likes = likes - 1e0WHERE id = 1 AND likes >= 3",
			"A: UPDATE post SET likes = 7, views = 0e0WHERE id = 1",
			"A: UPDATE post SET likes = likes + 1.5e1WHERE id = 1",
			"A: UPDATE post SET likes = 7 WHERE id > 0e0ORDER BY id DESC LIMIT 1",
			"A: SELECT id, likes FROM post WHERE likes > 0e0ORDER BY likes DESC, id LIMIT 1",
			"A: DELETE FROM post WHERE id > 0e0ORDER BY id DESC LIMIT 1",
		} {
			const read = "A: SELECT id, likes, views FROM post ORDER BY id"
			tw.Play(t, "A: begin", "A: UPDATE post SET likes = likes + 1 WHERE id = 2", step, read, "A: rollback", step, read)
		}
	})
}
