package transactions

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSavepointNames proves that names of savepoints are compared as the servers
// do: an increment behind a savepoint stayed pending where ROLLBACK TO spelled it
// otherwise.
func TestSavepointNames(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{{}, {"autocommit=0"}} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params...)
			steps := []string{}
			for _, names := range [][2]string{
				{"a", "A"}, {"a", "`a `"}, {"é", "e"}, {"E", "`É`"}, {"größe", "GROSE"}, {"größe", "Grösse"}, {"ж", "Ж"}, {"ж", "ё"}, {"`a.b`", "`A.B`"}, {"計数", "計数"},
			} {
				steps = append(steps, "A: BEGIN", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: SAVEPOINT "+names[0],
					"A: UPDATE post SET likes = likes + 10 WHERE id = 1", "A: SAVEPOINT later", "A: UPDATE post SET views = views + 1 WHERE id = 2",
					"A: ROLLBACK TO "+names[1], "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: SAVEPOINT "+names[1], "A: ROLLBACK TO later",
					"A: RELEASE SAVEPOINT "+names[0], "A: ROLLBACK TO SAVEPOINT "+names[1], "A: COMMIT", "B: SELECT id, likes, views FROM post ORDER BY id", "B: COMMIT")
			}
			tw.Play(t, steps...)
		}
	})
}
