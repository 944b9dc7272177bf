package operations

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const posts = "CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO p VALUES (1, 8), (2, 1);\nCREATE TABLE src (id INT PRIMARY KEY AUTO_INCREMENT, pid INT);\nINSERT INTO src (pid) VALUES (1), (1), (2)"

// TestRecountQueries proves that nothing is written, whatever sql_mode would clip, where a query
// has no one number for a key that the counter can hold, and which queries are right.
func TestRecountQueries(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for query, problem := range map[string]string{
			"SELECT pid, 1 FROM src":                                       "returns row id=1 2 times",
			"SELECT pid, 8 FROM src":                                       "returns row id=1 2 times", // as it is
			"SELECT CONCAT('0', pid), id FROM src":                         "returns row id=1 2 times",
			"SELECT pid, 'many' FROM src GROUP BY pid":                     "as the value: it has to be a number",
			"SELECT pid, CONCAT(COUNT(*), '') FROM src GROUP BY pid":       "as the value: it has to be a number",
			"SELECT pid, COUNT(*) + 1.5 FROM src GROUP BY pid":             "returns 3.5 for row id=1, which int",
			"SELECT pid, COUNT(*) + 1.5e0 FROM src GROUP BY pid":           "returns 3.5 for row id=1, which int",
			"SELECT pid, COUNT(*) * 1000000000000 FROM src GROUP BY pid":   "for row id=1, which int",
			"SELECT pid, COUNT(*) FROM src GROUP BY pid -- of two":         "",
			"SELECT pid, COUNT(*) FROM src GROUP BY pid # of two":          "",
			"SELECT pid, COUNT(*) * 1e0 FROM src GROUP BY pid":             "",
			"SELECT pid, SUM(1) AS `countermysql.n` FROM src GROUP BY pid": "",
		} {
			for _, params := range [][]string{{"sql_mode=''"}, {"columnsWithAlias=true"}} {
				config := harness.Counters("p", "n")
				config.Tables[0].Recount = map[string]string{"n": query}
				tw := harness.NewTwin(t, srv, posts, config, params...)
				_, err := countermysql.Recount(t.Context(), tw.Ours, &countermysql.RecountOptions{Repair: true})
				want := "id INT, n INT, [1 8][2 1]"
				if problem == "" {
					require.NoError(t, err, query)
					want = "id INT, n INT, [1 2][2 1]"
				} else {
					require.ErrorContains(t, err, problem, query)
				}
				require.Equal(t, want, harness.Queried(t.Context(), tw.Direct, "SELECT id, n FROM p ORDER BY id"), query)
			}
		}
	})
}

// TestDropTwice proves that of two drops at once the second, who finds the slots table gone, is
// done as well.
func TestDropTwice(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, before := range []string{"ALTER TABLE", "LOCK TABLES"} {
			tw := harness.NewTwin(t, srv, posts, harness.Counters("p", "n"))
			harness.Affected(t, tw.Ours, "UPDATE p SET n = n + 1 WHERE id = 1")
			_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
			require.NoError(t, err)
			config := *tw.Config
			sent := harness.NewRecorder()
			config.CreateSlots, config.Interceptor = false, sent
			tool, _ := harness.OpenOurs(t, tw.OursDSN, &config)
			require.NoError(t, tool.Ping())
			other := false
			sent.Meddle(t, func(text string) error {
				if !other && strings.HasPrefix(text, before) && strings.Contains(text, "p_slots") {
					other = true
					_, err := tw.Direct.Exec("DROP TABLE p_slots")
					return err
				}
				return nil
			})
			_, err = countermysql.Drop(t.Context(), tool, &countermysql.DropOptions{Notice: time.Millisecond})
			require.NoError(t, err)
			require.True(t, other, before)
			require.EqualValues(t, 9, harness.Number(t, tw.Direct, "SELECT n FROM p WHERE id = 1"))
		}
	})
}
