package countermysqlprom_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
	"github.com/countermysql/countermysql/metrics/countermysqlprom"
)

// TestCollector proves that the metrics are those of the statistics, and that their
// names keep to Prometheus's rules.
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
			_, err = registry.Gather()
			require.NoError(t, err)
			require.NotZero(t, testutil.CollectAndCount(c, "countermysql_statements_total"))
		})
	}
}

// TestGauges proves that what an operator is alerted by is told: tables that can't have
// counters or have been changed, rows that wait in slots, readings of the schema that failed,
// its age, and what triggers don't keep.
func TestGauges(t *testing.T) {
	servers, err := testserver.FromEnv(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			name := fmt.Sprintf("gauges_%d", os.Getpid())
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			admin.SetMaxOpenConns(1) // USE is for all that follows
			for _, stmt := range []string{
				"CREATE DATABASE " + name, "USE " + name,
				"CREATE TABLE page (id INT PRIMARY KEY, n INT)", "CREATE TABLE post (id INT PRIMARY KEY, n INT)", "CREATE TABLE text (id INT PRIMARY KEY, n VARCHAR(5))",
				"CREATE TABLE topic (id INT PRIMARY KEY, posts INT NOT NULL)",
			} {
				exec(t, admin, stmt)
			}
			defer exec(t, admin, "DROP DATABASE "+name)
			cfg, config, err := countermysql.ParseDSN(srv.DSN(name, "counters=page.n,post.n,text.n", "counterCreateSlots=true", "counterRollup=1s"))
			require.NoError(t, err)
			config.Tables = append(config.Tables, countermysql.TableConfig{Table: "topic", Counters: []string{"posts"}, // of which nobody has made the triggers
				Derived: map[string]string{"posts": "SELECT n, COUNT(*) FROM post GROUP BY n"}, History: &countermysql.History{}})
			var full atomic.Bool // the server has no connection left but the first
			var dialed atomic.Int64
			cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				if full.Load() && dialed.Add(1) > 1 {
					return nil, errors.New("too many connections")
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			connector, err := countermysql.NewConnector(cfg, config)
			require.NoError(t, err)
			db := sql.OpenDB(connector)
			defer db.Close()
			c := countermysqlprom.NewCollector(db, "forum")
			require.Equal(t, 0, testutil.CollectAndCount(c, "countermysql_unfit_tables"), "nothing is known yet")

			full.Store(true)
			require.ErrorContains(t, db.Ping(), "too many connections")
			full.Store(false)
			exec(t, db, "INSERT INTO page VALUES (1, 0)")
			stats, err := countermysql.Stats(db)
			require.NoError(t, err)
			require.Positive(t, stats.Schema.Errors)

			exec(t, admin, "CREATE TRIGGER noting AFTER UPDATE ON post FOR EACH ROW SET @noted = NEW.id")
			_, err = countermysql.Check(t.Context(), db) // reads the schema
			require.NoError(t, err)
			tx, err := admin.Begin()
			require.NoError(t, err)
			defer tx.Rollback()
			for _, stmt := range []string{"INSERT INTO page_slots (id, slot, n) VALUES (1, 1, 1), (1, 2, 1)", "COMMIT", "BEGIN", "SELECT n FROM page WHERE id = 1 FOR UPDATE"} { // a row that rollups skip
				_, err := tx.Exec(stmt)
				require.NoError(t, err, stmt)
			}
			require.Eventually(t, func() bool { return testutil.CollectAndCount(c, "countermysql_waiting_slot_rows") > 0 }, 20*time.Second, 50*time.Millisecond)
			require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(fmt.Sprintf(`
# HELP countermysql_degraded_tables Tables that others have changed so that they take no more increments into slots.
# TYPE countermysql_degraded_tables gauge
countermysql_degraded_tables{db_name="forum",table="%[1]s.post"} 1
# HELP countermysql_derived_kept 1 for a derived counter whose triggers are in place, 0 for one that does not follow its formula.
# TYPE countermysql_derived_kept gauge
countermysql_derived_kept{counter="posts",db_name="forum",table="%[1]s.topic"} 0
# HELP countermysql_history_forgotten_rows_total Rows of histories that rollups removed as they were kept for long enough.
# TYPE countermysql_history_forgotten_rows_total counter
countermysql_history_forgotten_rows_total{db_name="forum"} 0
# HELP countermysql_history_written 1 for a table whose triggers write its history as configured, 0 for one of which it lacks changes.
# TYPE countermysql_history_written gauge
countermysql_history_written{db_name="forum",table="%[1]s.topic"} 0
# HELP countermysql_schema_errors_total Readings of the server's tables that failed.
# TYPE countermysql_schema_errors_total counter
countermysql_schema_errors_total{db_name="forum"} %[2]d
# HELP countermysql_unfit_tables Tables that can't have counters, whose statements fail.
# TYPE countermysql_unfit_tables gauge
countermysql_unfit_tables{db_name="forum",table="%[1]s.text"} 1
# HELP countermysql_waiting_slot_rows Rows of slots tables that the rollup in the background found when it looked last, at most 10,000 of a table.
# TYPE countermysql_waiting_slot_rows gauge
countermysql_waiting_slot_rows{db_name="forum",table="%[1]s.page"} 2
`, name, stats.Schema.Errors)), "countermysql_degraded_tables", "countermysql_derived_kept", "countermysql_history_forgotten_rows_total", "countermysql_history_written", "countermysql_schema_errors_total", "countermysql_unfit_tables", "countermysql_waiting_slot_rows"))
			age := value(t, c, "countermysql_schema_age_seconds")
			require.Positive(t, age)
			require.Less(t, age, 60.0)
		})
	}
}

// value is that of a gauge without labels of its own.
func value(t *testing.T, c prometheus.Collector, name string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.Fail(t, "there is no "+name)
	return 0
}

// panel is one of a dashboard.
type panel struct {
	ID                 int
	Title, Description string
	GridPos            struct{ H, W, X, Y int }
	Targets            []struct{ Expr, LegendFormat, Format, RawSQL string }
}

// panelsOf are the panels of a dashboard, none of which hides another.
func panelsOf(t *testing.T, file string) []panel {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var dashboard struct{ Panels []panel }
	require.NoError(t, json.Unmarshal(text, &dashboard))
	places := map[[2]int]string{}
	for i, p := range dashboard.Panels {
		require.Equal(t, i+1, p.ID, p.Title)
		require.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, places[[2]int{x, y}], p.Title)
				places[[2]int{x, y}] = p.Title
			}
		}
	}
	return dashboard.Panels
}

// TestHistoryDashboard proves that the dashboard of a history has the queries of
// docs/history.md, of the post that is chosen.
func TestHistoryDashboard(t *testing.T) {
	var queries []string
	for _, p := range panelsOf(t, "grafana-history.json") {
		for _, target := range p.Targets {
			require.Equal(t, strings.Contains(target.RawSQL, "AS time"), target.Format == "time_series", p.Title)
			queries = append(queries, strings.ReplaceAll(target.RawSQL, "${id:sqlstring}", "1")+"\n")
		}
	}
	guide, err := os.ReadFile("../../docs/history.md")
	require.NoError(t, err)
	var documented []string
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(guide), -1) {
		documented = append(documented, m[1])
	}
	require.Equal(t, documented, queries)
}

// TestDashboard proves that the dashboard shows every metric that is exported, and no
// others, that docs/operations.md and the alerts name no others, and that no panel hides another.
func TestDashboard(t *testing.T) {
	db, err := sql.Open("mysql", "root@tcp(127.0.0.1:1)/")
	require.NoError(t, err)
	defer db.Close()
	descs := make(chan *prometheus.Desc, 100)
	countermysqlprom.NewCollector(db, "forum").Describe(descs)
	close(descs)
	exported := map[string]bool{}
	for d := range descs {
		exported[regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	base := func(metric string) string {
		if name := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(metric, ""); exported[name] {
			return name // of a histogram
		}
		return metric
	}

	shown := map[string]bool{}
	for _, p := range panelsOf(t, "grafana.json") {
		for _, target := range p.Targets {
			found := regexp.MustCompile(`(countermysql_\w+)({db_name=~"\$db_name")?`).FindAllStringSubmatch(target.Expr, -1)
			require.NotEmpty(t, found, target.Expr)
			for _, m := range found {
				require.NotEmpty(t, m[2], "of all databases: %s", target.Expr)
				require.NotEmpty(t, target.LegendFormat, target.Expr)
				shown[base(m[1])] = true
			}
		}
	}
	require.Equal(t, exported, shown)

	guide, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	for _, metric := range metrics(string(guide)) {
		if metric != "countermysql_slots" { // the name that the driver's own statements have
			require.True(t, exported[base(metric)], "docs/operations.md names %s", metric)
		}
	}
	_, section, _ := strings.Cut(string(guide), "\nAlert on ")
	section, _, _ = strings.Cut(section, "\nDerived counters and histories ")
	named := regexp.MustCompile("`([a-z]+_[a-z_]+)(?:{[^`]*})?`").FindAllStringSubmatch(section, -1) // without what all begin with
	for _, m := range named {
		if m[1] != "max_connections" && m[1] != "db_name" { // a setting of the server, and a label
			require.True(t, exported[base("countermysql_"+m[1])], "docs/operations.md names %s", m[1])
		}
	}
	require.Greater(t, len(named), 10)
	for _, r := range rules(t) {
		found := metrics(r.Expr)
		require.NotEmpty(t, found, r.Alert)
		for _, metric := range found {
			require.True(t, exported[metric], "%s names %s", r.Alert, metric)
		}
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

// rule is one of alerts.yaml.
type rule struct {
	Alert, Expr string
	Labels      struct{ Severity string }
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	text, err := os.ReadFile("alerts.yaml")
	require.NoError(t, err)
	var file struct {
		Groups []struct{ Rules []rule }
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

func metrics(expr string) []string {
	return regexp.MustCompile(`countermysql_[a-z_]+`).FindAllString(expr, -1)
}

// TestAlerts proves that docs/operations.md says of each alert, and of no other, how severe it
// is, by which metrics it comes, and something to do.
func TestAlerts(t *testing.T) {
	guide, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (Countermysql\w+, \w+) \| (.*) \| (.*) \|$`).FindAllStringSubmatch(string(guide), -1) {
		rows[m[1]] = m[2:]
	}
	for _, r := range rules(t) {
		row, ok := rows[r.Alert+", "+r.Labels.Severity]
		require.True(t, ok, "%s, %s", r.Alert, r.Labels.Severity)
		for _, metric := range metrics(r.Expr) {
			require.Contains(t, row[0], strings.TrimPrefix(metric, "countermysql_"), r.Alert)
		}
		require.NotEmpty(t, row[1])
		delete(rows, r.Alert+", "+r.Labels.Severity)
	}
	require.Empty(t, rows)
}
