package transactions

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReadOnlyNext proves that what SET TRANSACTION has said of the next transaction holds until
// there is one: a write that is refused by it is none.
func TestReadOnlyNext(t *testing.T) {
	const insert, like = "A: INSERT INTO note VALUES (1, 'a')", "A: UPDATE post SET likes = likes + 1 WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, refused := range []string{
			insert, like, "A: REPLACE INTO post (id, slug, likes) VALUES (1, 'a', 3)", "A: UPDATE post SET likes = 1 WHERE id IN (1, 2)", "A: DELETE FROM post WHERE likes > 3",
			"A: INSERT INTO post (id, slug) SELECT id + 9, likes FROM post",
		} {
			for _, set := range []string{"A: SET TRANSACTION READ ONLY", "A: SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY"} {
				tw.Reset(t)
				tw.Play(t, slices.Concat([]string{set, refused, insert, like, "A: SELECT COUNT(*) FROM note", insert, like}, harness.Everything)...)
				tw.Reset(t)
				tw.Play(t, slices.Concat([]string{set, refused, "A: BEGIN", "A: SELECT COUNT(*) FROM note", insert, like, "A: COMMIT", insert, like}, harness.Everything)...)
			}
		}
	})
}
