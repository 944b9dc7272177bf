package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestMadeUnsigned proves that what is below zero in slots counts for a counter that is made
// UNSIGNED, of which decrements trust slots to be above: the driver rolls up before its ALTER
// TABLE, and behind that of another client a rollup sees to it.
func TestMadeUnsigned(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const alter = "ALTER TABLE it MODIFY stock BIGINT UNSIGNED NOT NULL"
		for _, byOurs := range []bool{true, false} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE it (id INT PRIMARY KEY, stock BIGINT NOT NULL)", harness.Counters("it", "stock"))
			harness.ExecAll(t, tw.Plain, "INSERT INTO it VALUES (1, 2);\n"+alter)
			harness.Affected(t, tw.Ours, "INSERT INTO it VALUES (1, 10)")
			harness.Affected(t, tw.Direct, "INSERT INTO it_slots (id, slot, stock) VALUES (1, 3, -8)")
			if byOurs {
				harness.ExecAll(t, tw.Ours, alter)
			} else {
				harness.ExecAll(t, tw.Direct, alter)
				tw.LearnAnew(t)
				harness.RollUp(t, tw.Ours)
			}
			require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM it_slots WHERE stock < 0"))
			tw.Play(t, "A: UPDATE it SET stock = stock - 5 WHERE id = 1 AND stock >= 5", "A: UPDATE it SET stock = stock - 5 WHERE id = 1", "A: UPDATE it SET stock = stock - 2 WHERE id = 1 AND stock >= 2", "A: SELECT * FROM it")
		}
	})
}
