package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReaddedCounter proves what docs/semantics.md says of a counter whose column is dropped and made again: by another client
// it begins with what slots held of the old one, unless the slots table has lost its column meanwhile; through the driver
// it begins anew.
func TestReaddedCounter(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for way, want := range map[string]int64{"other client": 10, "slots column too": 0, "driver": 0} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, views INT NOT NULL DEFAULT 0);\nINSERT INTO p (id) VALUES (1)", harness.Counters("p", "likes", "views"))
			for range 2 {
				harness.Affected(t, tw.Ours, "UPDATE p SET likes = likes + 5, views = views + 3 WHERE id = 1")
			}
			require.EqualValues(t, 10, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM p_slots"))
			by := tw.Direct
			if way == "driver" {
				by = tw.Ours
			}
			harness.ExecAll(t, by, "ALTER TABLE p DROP COLUMN likes")
			tw.LearnAnew(t)
			_, err := countermysql.Rollup(t.Context(), tw.Ours, &countermysql.RollupOptions{Tables: []string{"p"}})
			require.NoError(t, err)
			if way == "slots column too" {
				harness.ExecAll(t, tw.Direct, "ALTER TABLE p_slots DROP COLUMN likes")
			}
			harness.ExecAll(t, by, "ALTER TABLE p ADD COLUMN likes INT NOT NULL DEFAULT 0")
			tw.LearnAnew(t)
			require.EqualValues(t, want, harness.Number(t, tw.Ours, "SELECT likes FROM p"), way)
			require.EqualValues(t, 6, harness.Number(t, tw.Ours, "SELECT views FROM p"))
		}
	})
}
