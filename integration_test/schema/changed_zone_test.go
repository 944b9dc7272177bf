package schema

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestMomentsBecomeTimes proves that nothing is lost where another client turns a key of
// moments into one of times of day, or back: a process that does not know it yet counts on,
// and rolls up nothing, since in the rollup's time zone slots would match other rows, or
// none; one that does refuses the table until it is altered back.
func TestMomentsBecomeTimes(t *testing.T) {
	t.Parallel()
	const show = "SELECT slug, n FROM p ORDER BY slug"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, types := range [][2]string{{"DATETIME", "TIMESTAMP"}, {"TIMESTAMP", "DATETIME"}} {
			t.Run(types[0], func(t *testing.T) {
				const preset = " NOT NULL DEFAULT '2020-01-01 00:00:00'" // or a TIMESTAMP gets one that moves
				schema := "CREATE TABLE p (id " + types[0] + preset + ", slug INT NOT NULL UNIQUE, n INT NOT NULL DEFAULT 0, PRIMARY KEY (id));\n" +
					"INSERT INTO p VALUES ('2020-01-02 10:00:00', 1, 0), ('2020-01-02 15:00:00', 2, 0)"
				tw := harness.NewTwin(t, srv, schema, harness.Counters("p", "n"), "time_zone=%27%2B05:00%27")
				alter := func(to string) {
					for _, db := range []*sql.DB{tw.Plain, tw.Direct} {
						s := harness.Session(t, db)
						harness.Affected(t, s, "SET time_zone = '+05:00'")
						harness.Affected(t, s, "ALTER TABLE p MODIFY id "+to+preset)
					}
				}
				steps := []string{"A: UPDATE p SET n = n + 1 WHERE slug = 1", "A: UPDATE p SET n = n + 10 WHERE slug = 2", "A: UPDATE p SET n = n + 100 WHERE slug IN (1, 2)",
					"A: begin", "A: UPDATE p SET n = n + 1000 WHERE slug = 1", "A: UPDATE p SET n = n + 10000 WHERE slug = 2", "A: commit", "A: " + show}
				tw.Play(t, steps...)
				alter(types[1])
				tw.Play(t, steps...)
				for range 2 {
					_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
					require.Error(t, err)
				}
				var misfit *countermysql.SlotsTableError
				_, err := tw.Ours.Exec("UPDATE p SET n = n + 1 WHERE slug = 1")
				require.ErrorAs(t, err, &misfit)
				alter(types[0])
				newer, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
				require.Equal(t, harness.Queried(t.Context(), tw.Plain, show), harness.Queried(t.Context(), newer, show))
				harness.RollUp(t, newer)
				require.Equal(t, harness.Queried(t.Context(), tw.Plain, show), harness.Queried(t.Context(), tw.Direct, show))
			})
		}
	})
}
