package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDigitsOfTime proves that an increment of a time with more digits than a key
// can have is left to the server, which on MariaDB finds no row.
func TestDigitsOfTime(t *testing.T) {
	const schema = `
CREATE TABLE hit (at TIMESTAMP(6) NOT NULL PRIMARY KEY DEFAULT '2020-01-01', n INT NOT NULL);
INSERT INTO hit VALUES ('2021-06-01 00:00:01.123456', 1);
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("hit", "n"))
		tw.Play(t, "A: UPDATE hit SET n = n + 1 WHERE at = '2021-06-01 00:00:01.1234560'", "A: UPDATE hit SET n = n + 1 WHERE at = '2021-06-01 00:00:01.123456'", "A: SELECT * FROM hit")
	})
}
