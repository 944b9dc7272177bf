package writes

import (
	"slices"
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLongExecute proves that EXECUTE and HANDLER, whose tables an earlier statement has
// named, find all counts in the base rows however long their texts are, by comments of a
// tracer for example.
func TestLongExecute(t *testing.T) {
	const comment = " /*traceparent='00-5bd66ef5095369c7b0d1f8f4bd33716a-c532cb4098ac3dd2-01'*/"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, steps := range [][]string{
			{"A: PREPARE tell FROM 'SELECT likes FROM post WHERE id = 1'", "A: EXECUTE tell" + comment},
			{"A: PREPARE s FROM 'UPDATE post SET likes = GREATEST(likes - ?, 0) WHERE id = ?'", "A: SET @less = 7, @id = 1", "A:" + comment + " EXECUTE s USING @less, @id"},
			{"A: BEGIN", "A: PREPARE s FROM 'UPDATE post SET likes = likes * 2'", "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: EXECUTE s" + comment, "A: COMMIT"},
			{"A: HANDLER post OPEN AS h", "A: HANDLER h READ `PRIMARY` = (1)" + comment, "A: HANDLER h CLOSE"},
		} {
			tw.Reset(t)
			tw.Play(t, slices.Concat(steps, harness.Everything)...)
		}
	})
}
