package reads

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestUnsignedSubtraction proves that to subtract a negative number from an UNSIGNED counter
// is no increment: with NO_UNSIGNED_SUBTRACTION it has a sign, and its own range.
func TestUnsignedSubtraction(t *testing.T) {
	const schema = `
CREATE TABLE post (id INT PRIMARY KEY, n BIGINT UNSIGNED NOT NULL, d DECIMAL(20,2) UNSIGNED NULL);
INSERT INTO post VALUES (1, 18000000000000000001, 5), (2, 3, NULL);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, mode := range []string{"'STRICT_ALL_TABLES'", "'STRICT_ALL_TABLES,NO_UNSIGNED_SUBTRACTION'", "'NO_UNSIGNED_SUBTRACTION'"} {
			for _, begin := range []string{"DO 1", "BEGIN"} {
				tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "n", "d"))
				steps := []string{"A: SET sql_mode = " + mode, "A: UPDATE post SET n = n + 1 WHERE id = 2", "A: " + begin}
				for _, id := range []string{"1", "2"} {
					for _, set := range []string{"n = n - -1", "n = n - 0", "n = n - 1", "n = n + 1", "d = d - -1", "d = COALESCE(d, 0) - -1.5", "n = COALESCE(n, 0) - -2"} {
						steps = append(steps, "A: UPDATE post SET "+set+" WHERE id = "+id, "A: SELECT * FROM post ORDER BY id")
					}
				}
				tw.Play(t, append(steps, "A: COMMIT", "A: SELECT * FROM post ORDER BY id")...)
			}
		}
	})
}
