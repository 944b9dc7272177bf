package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestPartition proves that an increment leaves out the partitions that the
// statement leaves out.
func TestPartition(t *testing.T) {
	const schema = `
CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL) PARTITION BY HASH (id) PARTITIONS 2;
INSERT INTO page VALUES (1, 1), (2, 2), (3, 3);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("page", "hits"))
		tw.Play(t, "A: UPDATE page PARTITION (p0) SET hits = hits + 1 WHERE id = 1", "A: UPDATE page PARTITION (p1) SET hits = hits + 1 WHERE id IN (1, 2)",
			"A: BEGIN", "A: UPDATE page PARTITION (p0) SET hits = hits + 1 WHERE id = 3", "A: COMMIT",
			"A: INSERT INTO page PARTITION (p0) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = hits + 1", "A: INSERT INTO page PARTITION (p1) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = hits + 1",
			"A: SELECT * FROM page ORDER BY id", "A: SELECT hits FROM page PARTITION (p0)")
	})
}
