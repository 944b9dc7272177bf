package schema

import (
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

var namesIndex = regexp.MustCompile("INDEX \\([^)]*`likes`")

// TestPlannedBeforeReading proves that a statement for which the driver names an index that another
// client drops runs as on plain MySQL, also where somebody else of its process has had the schema
// read since it was planned.
func TestPlannedBeforeReading(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Board, harness.Counters("post", "likes"))
		const like, update = "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UPDATE post SET likes = GREATEST(likes - 1, 3) WHERE author = 1"
		for _, steps := range [][]string{{update}, {"A: begin", update, "A: commit"}, {"A: begin", like, update, "A: commit"}, {"A: DELETE FROM post WHERE author = 1"}} {
			tw.Play(t, like)
			var dropped atomic.Bool
			tw.Sent.Meddle(t, func(query string) error {
				if namesIndex.MatchString(query) && dropped.CompareAndSwap(false, true) {
					harness.Affected(t, tw.Direct, "ALTER TABLE post DROP KEY likes")
					if _, err := countermysql.Check(t.Context(), tw.Ours); err != nil { // reads it
						return err
					}
				}
				return nil
			})
			tw.Play(t, append(steps, "A: SELECT id, likes FROM post ORDER BY id")...)
			require.True(t, dropped.Load(), steps)
			harness.Affected(t, tw.Direct, "ALTER TABLE post ADD KEY (likes)")
			tw.LearnAnew(t)
		}
	})
}

// TestNameThatIsFree proves that a table may get a counter table's name, through the driver too, once another
// process has renamed or dropped that, which this one has not noticed yet.
func TestNameThatIsFree(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hammered+";\nCREATE TABLE next LIKE post;\nINSERT INTO next (id) VALUES (1)", harness.Counters("post", "likes"))
		other, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		const like, see = "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SELECT id, likes FROM post ORDER BY id"
		tw.Play(t, like, see)
		for _, frees := range []string{"RENAME TABLE post TO away", "DROP TABLE post"} {
			harness.Affected(t, tw.Plain, frees)
			harness.Affected(t, other, frees)
			tw.Play(t, "A: RENAME TABLE next TO post", like, see, "A: CREATE TABLE next LIKE post", "A: INSERT INTO next (id) VALUES (1)")
		}
	})
}
