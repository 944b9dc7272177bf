package writes

import (
	"testing"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestKeysOfTheHourThatComesTwice proves that increments stay with their rows where two
// TIMESTAMP keys are one text: of the two hours from 2:00 to 3:00 when summer time ends.
func TestKeysOfTheHourThatComesTwice(t *testing.T) {
	const schema = "CREATE TABLE page (at TIMESTAMP NOT NULL DEFAULT '2020-01-01', name VARCHAR(10) NOT NULL UNIQUE, hits INT NOT NULL DEFAULT 0, PRIMARY KEY (at));\n" +
		"SET time_zone = '+00:00';\nINSERT INTO page (at, name) VALUES ('2026-10-25 00:30:00', 'first'), ('2026-10-25 01:30:00', 'second'), ('2026-10-25 03:00:00', 'third');\nSET time_zone = 'Berlin'"
	harness.ForOwnServers(t, func(t *testing.T, srv *testserver.Server) {
		harness.ExecAll(t, harness.Open(t, srv.DSN("")), harness.Berlin)
		for _, params := range []string{"interpolateParams=true", "interpolateParams=false", "multiStatements=true"} {
			tw := harness.NewTwin(t, srv, schema, harness.Counters("page", "hits"), "time_zone='Berlin'", params)
			count := func(name string) string { return "A: UPDATE page SET hits = hits + 1 WHERE name = '" + name + "'" }
			const show = "B: SELECT name, at, hits FROM page ORDER BY name"
			tw.Play(t, count("first"), count("second"), count("second"), count("third"), show,
				"A: begin", count("first"), count("second"), count("second"), count("third"), "A: SELECT name, hits FROM page ORDER BY name", "A: commit", show,
				"A: begin", "A: UPDATE page SET hits = hits + 1 WHERE name IN ('first', 'second')", "A: UPDATE page SET hits = hits + 1 WHERE at = '2026-10-25 02:30:00'", "A: commit", show,
				"A: UPDATE page SET hits = hits + 1 WHERE at = '2026-10-25 02:30:00'", "A: UPDATE page SET hits = GREATEST(hits - 1, 0) WHERE name = 'second'", show,
				"A: UPDATE page SET hits = 40 WHERE name = 'first'", count("first"), show, "A: DELETE FROM page WHERE name = 'second'", count("first"), show)
			harness.RollUp(t, tw.Ours)
			tw.Play(t, show)
		}
	})
}
