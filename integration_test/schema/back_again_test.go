package schema

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestBackAgain proves that a statement which does not find its table, and is planned anew
// for that, does not take it for one without counters where another client has given it
// its name back by the time that it is sent once more; and that it reads and writes no view
// that has the name by then.
func TestBackAgain(t *testing.T) {
	t.Parallel()
	statements := []string{
		"A: SELECT likes FROM post WHERE id = 1", "A: SELECT * FROM post ORDER BY likes DESC LIMIT 1", "A: SELECT likes, HEX(likes) FROM post WHERE id = 1", "A: UPDATE post SET likes = likes + 1 WHERE id = 1",
		"A: UPDATE post SET likes = likes - 3 WHERE id = 1 AND likes >= 3", "A: UPDATE post SET likes = 100 WHERE id = 1", "A: DELETE FROM post WHERE id = 1",
		"A: begin; A: SELECT likes FROM post WHERE id = 1; A: commit", "A: begin; A: UPDATE post SET likes = 100 WHERE id = 1; A: commit",
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, back := range map[string]string{"table": "RENAME TABLE article TO post", "view": "CREATE VIEW post AS SELECT * FROM article"} {
			for _, steps := range statements {
				t.Run(name+"/"+steps, func(t *testing.T) {
					t.Parallel()
					tw := harness.NewTwin(t, srv, renamed, harness.Counters("post", "likes"))
					harness.Affected(t, tw.Plain, "UPDATE post SET likes = 4 WHERE id = 1")
					harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 4)")
					time.Sleep(1100 * time.Millisecond) // sooner it does not look
					harness.Affected(t, tw.Direct, "RENAME TABLE post TO article")
					comeBack := sync.OnceFunc(func() { harness.Affected(t, tw.Direct, back) })
					tw.Sent.Meddle(t, func(query string) error {
						if strings.Contains(steps, query) { // as it is written: for a table without counters
							comeBack()
						}
						return nil
					})
					script := append(strings.Split(steps, "; "), "A: SELECT likes FROM post ORDER BY id")
					got := strings.Join(harness.PlayOn(t, tw.Ours, script), "\n")
					if name == "view" && strings.Contains(got, "it is a view") {
						require.Zero(t, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM article"))
						return
					}
					require.Equal(t, strings.Join(harness.PlayOn(t, tw.Plain, script), "\n"), got)
				})
			}
		}
	})
}
