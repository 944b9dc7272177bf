package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestFraction proves counters with so many digits after the point that their
// units go beyond 64 bits while the number is less than one.
func TestFraction(t *testing.T) {
	const schema = `
CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(65,30) NOT NULL, e DECIMAL(40,21) NOT NULL);
INSERT INTO t VALUES (1, 0.5, 0.1), (2, 0.00001, -0.01), (3, -0.00001, 0);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("t", "d", "e"))
		tw.Play(t, "A: UPDATE t SET d = d + 0.000000000001, e = e - 0.001 WHERE id = 1", "A: UPDATE t SET d = d + 0.000000000001, e = e + 0.001 WHERE id = 2", "A: SELECT * FROM t",
			"A: UPDATE t SET d = d * 2, e = e * 2 WHERE id IN (1, 2)", "A: BEGIN", "A: UPDATE t SET d = d + 0.000000000001, e = e - 0.001", "A: SELECT * FROM t", "A: COMMIT", "A: SELECT * FROM t")
		harness.RollUp(t, tw.Ours)
		tw.Same(t, "SELECT * FROM t")
	})
}
