package operations

import (
	"database/sql"
	"slices"
	"strconv"
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

// TestRecountReadsParts proves that a repair corrects many rows in a statement, and asks the query for
// these, which the server finds by an index: it does not run all of it for each part of them.
func TestRecountReadsParts(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const query = "SELECT pid, COUNT(*) FROM src WHERE public = 1 GROUP BY pid"
		for key, config := range map[string]countermysql.TableConfig{
			"INT":         {Recount: map[string]string{"n": query}},
			"VARCHAR(20)": {Derived: map[string]string{"n": query}},
			"DATETIME(3)": {Derived: map[string]string{"n": query}},
		} {
			const numbers = "WITH RECURSIVE digits (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digits WHERE d < 9) SELECT "
			const of = " FROM digits a, digits b, digits c, digits e WHERE e.d < 4"
			number := "a.d + 100 * b.d + 10000 * c.d + 1000000 * e.d"
			if key != "INT" {
				number += " + 20000101000000"
			}
			config.Table, config.Counters = "p", []string{"n"}
			tw := harness.NewTwin(t, srv, "CREATE TABLE p (id "+key+" PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nCREATE TABLE src (id INT PRIMARY KEY AUTO_INCREMENT, pid "+key+", public INT NOT NULL DEFAULT 1, INDEX (pid));\n"+
				"INSERT INTO p (id, n) "+numbers+number+", 3"+of+";\n"+
				"INSERT INTO src (pid) SELECT id FROM p;\nINSERT INTO src (pid) SELECT id FROM p;\nINSERT INTO src (pid) SELECT id FROM p;\nANALYZE TABLE p, src;\n"+
				"UPDATE p SET n = 7 ORDER BY id LIMIT 200", &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{config}})
			recorded, sent := *tw.Config, harness.NewRecorder()
			recorded.Interceptor = sent
			db, _ := harness.OpenOurs(t, tw.OursDSN, &recorded)
			parts := 0
			all := sent.During(func() {
				drifts, err := countermysql.Recount(t.Context(), db, &countermysql.RecountOptions{Repair: true})
				require.NoError(t, err)
				require.Len(t, drifts, 200)
			})
			require.Less(t, len(all), 200)
			for _, s := range all {
				if !strings.Contains(s.Text, "src") || !strings.Contains(s.Text, " IN (") {
					continue
				}
				parts++
				require.Less(t, rowsOf(t, tw.Direct, "EXPLAIN "+s.Text, "src", "countermysql_row"), 3000, s.Text)
			}
			require.NotZero(t, parts)
			harness.RollUp(t, tw.Ours)
			require.EqualValues(t, 3*4000, harness.Number(t, tw.Direct, "SELECT SUM(n) FROM p"))
		}
	})
}

// rowsOf is how many rows of a table, by one of its names, the server's plan reads.
func rowsOf(t *testing.T, db *sql.DB, explain string, names ...string) (rows int) {
	t.Helper()
	c := harness.Session(t, db)
	_, _ = c.ExecContext(t.Context(), "SET explain_format = TRADITIONAL") // MySQL's is another by default
	res, err := c.QueryContext(t.Context(), explain)
	require.NoError(t, err)
	defer res.Close()
	columns, err := res.Columns()
	require.NoError(t, err)
	found := false
	for res.Next() {
		told := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range told {
			into[i] = &told[i]
		}
		require.NoError(t, res.Scan(into...))
		if slices.Contains(names, told[slices.Index(columns, "table")].String) {
			found = true
			n, err := strconv.Atoi(told[slices.Index(columns, "rows")].String)
			require.NoError(t, err)
			rows += n
		}
	}
	require.NoError(t, res.Err())
	require.True(t, found, explain)
	return rows
}
