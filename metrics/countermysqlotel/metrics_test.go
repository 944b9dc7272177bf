package countermysqlotel_test

import (
	"database/sql"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
	"github.com/countermysql/countermysql/metrics/countermysqlotel"
)

// TestMetrics proves that what is observed is what the statistics say, with the
// attributes given, until it is unregistered.
func TestMetrics(t *testing.T) {
	servers, err := testserver.FromEnv(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			name := fmt.Sprintf("otel_%d", os.Getpid())
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			defer admin.Close()
			exec(t, admin, "CREATE DATABASE "+name)
			defer exec(t, admin, "DROP DATABASE "+name)
			cfg, config, err := countermysql.ParseDSN(srv.DSN(name, "counters=page.hits,post.likes,text.n", "counterCreateSlots=true", "counterRollup=never"))
			require.NoError(t, err)
			config.Tables[1].Derived = map[string]string{"likes": "SELECT hits, COUNT(*) FROM page GROUP BY hits"} // of which nobody has made the triggers
			config.Tables[1].History = &countermysql.History{}
			connector, err := countermysql.NewConnector(cfg, config)
			require.NoError(t, err)
			db := sql.OpenDB(connector)
			defer db.Close()
			reader := metric.NewManualReader()
			registration, err := countermysqlotel.Register(db, metric.NewMeterProvider(metric.WithReader(reader)), attribute.String("db.namespace", "forum"))
			require.NoError(t, err)
			for _, stmt := range []string{
				"CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL)", "INSERT INTO page VALUES (1, 0)",
				"UPDATE page SET hits = hits + 1 WHERE id = 1", "UPDATE page SET hits = hits + 1 WHERE id = 1", "UPDATE page SET hits = hits * 2 WHERE id = 1",
			} {
				exec(t, db, stmt)
			}
			exec(t, db, "CREATE TABLE post (id INT PRIMARY KEY, likes INT)")
			exec(t, db, "CREATE TABLE text (id INT PRIMARY KEY, n VARCHAR(5))") // can't have a counter
			exec(t, db, "SELECT likes FROM post")                               // it gets its slots table
			exec(t, admin, "CREATE TRIGGER "+name+".noting AFTER UPDATE ON "+name+".post FOR EACH ROW SET @noted = NEW.id")
			_, err = countermysql.Check(t.Context(), db) // reads the schema
			require.NoError(t, err)
			ages := map[string]float64{}
			values := func() map[string]int64 {
				var all metricdata.ResourceMetrics
				require.NoError(t, reader.Collect(t.Context(), &all))
				found := map[string]int64{}
				for _, s := range all.ScopeMetrics {
					for _, m := range s.Metrics {
						require.NotEmpty(t, m.Unit)
						require.NotEmpty(t, m.Description)
						sum, ok := m.Data.(metricdata.Sum[int64])
						if !ok { // of seconds
							points := m.Data.(metricdata.Gauge[float64]).DataPoints
							require.Len(t, points, 1)
							ages[m.Name] = points[0].Value
						}
						for _, p := range sum.DataPoints {
							db, ok := p.Attributes.Value("db.namespace")
							require.True(t, ok)
							require.Equal(t, "forum", db.AsString())
							class, _ := p.Attributes.Value("class")
							found[m.Name+" "+class.AsString()] += p.Value
						}
					}
				}
				return found
			}
			v := values()
			require.EqualValues(t, 2, v["countermysql.statements increment"])
			require.EqualValues(t, 1, v["countermysql.statements exact"])
			require.EqualValues(t, 1, v["countermysql.statements.exact "])
			require.EqualValues(t, 2, v["countermysql.groups.increments "])
			require.Contains(t, v, "countermysql.increments.pending ")
			require.Contains(t, v, "countermysql.keys.slotted ")
			require.EqualValues(t, 1, v["countermysql.tables.unfit "])
			require.EqualValues(t, 1, v["countermysql.tables.degraded "])
			for _, name := range []string{"schema.errors ", "derived.kept ", "history.written ", "history.forgotten "} {
				require.Contains(t, v, "countermysql."+name)
				require.Zero(t, v["countermysql."+name], name)
			}
			require.Positive(t, ages["countermysql.schema.age"])
			require.Less(t, ages["countermysql.schema.age"], 60.0)
			require.NoError(t, registration.Unregister())
			require.Empty(t, values())
			_, err = countermysqlotel.Register(admin, metric.NewMeterProvider())
			require.Error(t, err)
		})
	}
}

func exec(t *testing.T, db *sql.DB, stmt string) {
	t.Helper()
	_, err := db.Exec(stmt)
	require.NoError(t, err, stmt)
}
