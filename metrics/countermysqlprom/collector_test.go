package countermysqlprom_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
	"github.com/countermysql/countermysql/metrics/countermysqlprom"
)

// TestCollector proves that the metrics are those of the statistics, that their
// names keep to Prometheus's rules, and that the dashboard asks for no others.
func TestCollector(t *testing.T) {
	servers, err := testserver.FromEnv(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			name := fmt.Sprintf("prom_%d", os.Getpid())
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			exec(t, admin, "CREATE DATABASE "+name)
			defer exec(t, admin, "DROP DATABASE "+name)
			db, err := sql.Open("countermysql", srv.DSN(name, "counters=page.hits", "counterCreateSlots=true", "counterRollup=never"))
			require.NoError(t, err)
			defer db.Close()
			for _, stmt := range []string{
				"CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL)", "INSERT INTO page VALUES (1, 0)",
				"UPDATE page SET hits = hits + 1 WHERE id = 1", "UPDATE page SET hits = hits + 1 WHERE id = 1", "UPDATE page SET hits = hits * 2 WHERE id = 1",
				"UPDATE page SET hits = hits + 1 WHERE id = 1",
			} {
				exec(t, db, stmt)
			}
			_, err = db.Exec("UPDATE page SET hits = hits + 1 WHERE nonsense = 1")
			require.Error(t, err)
			_, err = countermysql.Rollup(t.Context(), db, nil)
			require.NoError(t, err)

			c := countermysqlprom.NewCollector(db, "forum")
			problems, err := testutil.CollectAndLint(c)
			require.NoError(t, err)
			require.Empty(t, problems)
			require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP countermysql_group_size How many increments, or transactions of nothing else, shared a commit.
# TYPE countermysql_group_size histogram
countermysql_group_size_bucket{db_name="forum",le="1"} 3
countermysql_group_size_bucket{db_name="forum",le="2"} 3
countermysql_group_size_bucket{db_name="forum",le="4"} 3
countermysql_group_size_bucket{db_name="forum",le="8"} 3
countermysql_group_size_bucket{db_name="forum",le="16"} 3
countermysql_group_size_bucket{db_name="forum",le="32"} 3
countermysql_group_size_bucket{db_name="forum",le="64"} 3
countermysql_group_size_bucket{db_name="forum",le="128"} 3
countermysql_group_size_bucket{db_name="forum",le="256"} 3
countermysql_group_size_bucket{db_name="forum",le="512"} 3
countermysql_group_size_bucket{db_name="forum",le="+Inf"} 3
countermysql_group_size_sum{db_name="forum"} 3
countermysql_group_size_count{db_name="forum"} 3
# HELP countermysql_rollup_rows_total Base rows that got the sum of their slots.
# TYPE countermysql_rollup_rows_total counter
countermysql_rollup_rows_total{db_name="forum"} 1
# HELP countermysql_rollups_total Rollups of this process, by result.
# TYPE countermysql_rollups_total counter
countermysql_rollups_total{db_name="forum",result="done"} 1
countermysql_rollups_total{db_name="forum",result="failed"} 0
# HELP countermysql_server_errors_total Errors of the server in answer to statements on tables with counters, by their numbers.
# TYPE countermysql_server_errors_total counter
countermysql_server_errors_total{code="1054",db_name="forum"} 1
`), "countermysql_group_size", "countermysql_rollup_rows_total", "countermysql_rollups_total", "countermysql_server_errors_total"))

			registry := prometheus.NewPedanticRegistry()
			require.NoError(t, registry.Register(c))
			families, err := registry.Gather()
			require.NoError(t, err)
			known := map[string]bool{}
			for _, f := range families {
				known[f.GetName()] = true
			}
			text, err := os.ReadFile("grafana.json")
			require.NoError(t, err)
			require.True(t, json.Valid(text))
			used := regexp.MustCompile(`countermysql_\w+`).FindAllString(string(text), -1)
			require.NotEmpty(t, used)
			for _, metric := range used {
				base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(metric, "")
				require.True(t, known[metric] || known[base], "the dashboard asks for %s", metric)
			}
			require.NotZero(t, testutil.CollectAndCount(c, "countermysql_statements_total"))
		})
	}
}

// TestOfAnotherDriver proves that a db which is not ours is an error of the scrape.
func TestOfAnotherDriver(t *testing.T) {
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:1)/")
	require.NoError(t, err)
	defer db.Close()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(countermysqlprom.NewCollector(db, "forum")))
	_, err = registry.Gather()
	require.Error(t, err)
}

func exec(t *testing.T, db *sql.DB, stmt string) {
	t.Helper()
	_, err := db.Exec(stmt)
	require.NoError(t, err, stmt)
}
