package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestZerofillKey proves that a transaction sees what it has incremented under a key
// that the server shows with zeros before it.
func TestZerofillKey(t *testing.T) {
	const schema = "CREATE TABLE invoice (no INT(8) ZEROFILL PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO invoice (no) VALUES (5), (6)"
	const one, both = "A: UPDATE invoice SET n = n + 1 WHERE no = 5", "A: UPDATE invoice SET n = n + 1 WHERE no IN (00005, '6')"
	const see, all = "A: SELECT n FROM invoice WHERE no = 5", "A: SELECT * FROM invoice ORDER BY no"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, level := range []string{"RR", "RC"} {
			harness.NewTwin(t, srv, schema, harness.Counters("invoice", "n")).Play(t, one, "A: begin "+level, one, see, all, both, see,
				"A: UPDATE invoice SET n = n * 2 WHERE no = 5", see, "A: commit", all, both, "A: DELETE FROM invoice WHERE no = 6", "A: INSERT INTO invoice VALUES (6, 1)", all)
			harness.NewTwin(t, srv, schema, harness.ReadOwnSnapshot(harness.Counters("invoice", "n"))).Play(t, "A: begin "+level, one, see, both, see, "A: commit", all)
		}
	})
}
