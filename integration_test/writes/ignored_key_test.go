package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestIgnoredKey proves that a key which IGNORE cuts takes along what is in its slots: LAST_INSERT_ID() of a number
// below zero is one that the column can't hold.
func TestIgnoredKey(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO page (id) VALUES (1), (-8)", harness.Counters("page", "n"), "interpolateParams=true")
		harness.Affected(t, tw.Plain, "UPDATE page SET n = n + 3")
		harness.Number(t, tw.Ours, "SELECT COUNT(n) FROM page")
		harness.Affected(t, tw.Direct, "INSERT INTO page_slots (id, slot, n) SELECT id, 1, 3 FROM page")
		for _, text := range []string{"UPDATE page SET id = LAST_INSERT_ID(id) WHERE id = 1", "UPDATE IGNORE page SET id = LAST_INSERT_ID(id) WHERE id IN (-8, 7)"} {
			tw.Play(t, "A: "+text, "A: SELECT * FROM page ORDER BY id", "A: SELECT LAST_INSERT_ID()")
		}
	})
}
