package operations

import (
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSchemaGauges proves that Stats tells how long ago the schema was looked at, and each
// reading of it that failed, which makes what is known no younger.
func TestSchemaGauges(t *testing.T) {
	t.Parallel() // it waits most of the time
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		connector, err := countermysql.NewConnector(cfg, tw.Config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		defer db.Close()
		require.Zero(t, harness.Stats(t, db).Schema, "nothing is known before the first connection")

		harness.Affected(t, db, "UPDATE hot SET n = n + 1 WHERE id = 10")
		const pause = 1200 * time.Millisecond
		time.Sleep(pause)
		s := harness.Stats(t, db).Schema
		require.GreaterOrEqual(t, s.Age, pause)
		require.Less(t, s.Age, time.Minute)
		require.Zero(t, s.Errors)

		tw.Sent.Meddle(t, func(query string) error {
			if strings.Contains(query, "information_schema.") {
				return &mysql.MySQLError{Number: 1105, Message: "a reading that fails"}
			}
			return nil
		})
		for n := range 2 {
			_, err := countermysql.Check(t.Context(), db) // reads the schema
			require.ErrorContains(t, err, "a reading that fails")
			s = harness.Stats(t, db).Schema
			require.EqualValues(t, n+1, s.Errors)
			require.GreaterOrEqual(t, s.Age, pause)
		}
		harness.Affected(t, db, "UPDATE hot SET n = n + 1 WHERE id = 10") // as nothing is known to have changed

		tw.Sent.Before.Store(nil)
		require.Eventually(t, func() bool { // a busy process looks every ten seconds
			harness.Affected(t, db, "UPDATE hot SET n = n + 1 WHERE id = 10")
			s = harness.Stats(t, db).Schema
			return s.Age < pause
		}, time.Minute, 100*time.Millisecond)
		require.EqualValues(t, 2, s.Errors)
	})
}

// TestTableGauges proves that Stats names each table that can't have counters, and each that
// others have changed so that it takes no more increments into slots, with the reasons, and
// neither when it is mended.
func TestTableGauges(t *testing.T) {
	const schema = `
CREATE TABLE fit (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);
INSERT INTO fit VALUES (1, 0);
CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);
INSERT INTO post VALUES (1, 0);
CREATE TABLE gauge (id INT PRIMARY KEY, n VARCHAR(5))
`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := &countermysql.Config{}
		for _, table := range []string{"fit", "post", "gauge", "later"} {
			config.Tables = append(config.Tables, countermysql.TableConfig{Table: table, Counters: []string{"n"}})
		}
		tw := harness.NewTwin(t, srv, schema, config)
		name := harness.DbName(t, tw.Direct)
		told := func() (degraded, unfit map[string][]string) {
			tw.LearnAnew(t)
			s := harness.Stats(t, tw.Ours)
			return s.Degraded, s.Unfit
		}
		degraded, unfit := told()
		require.Empty(t, degraded)
		require.Equal(t, map[string][]string{name + ".gauge": {"counter n is varchar(5); make it an integer or a DECIMAL"}}, unfit)

		harness.Affected(t, tw.Direct, "CREATE TRIGGER noting AFTER UPDATE ON post FOR EACH ROW SET @noted = NEW.id")
		harness.Affected(t, tw.Direct, "ALTER TABLE gauge MODIFY n INT")
		degraded, unfit = told()
		require.Empty(t, unfit)
		require.Len(t, degraded, 1)
		require.Len(t, degraded[name+".post"], 1)
		require.Contains(t, degraded[name+".post"][0], "UPDATE trigger")

		harness.Affected(t, tw.Direct, "DROP TRIGGER noting")
		degraded, unfit = told()
		require.Empty(t, degraded)
		require.Empty(t, unfit)

		harness.Affected(t, tw.Direct, "CREATE TABLE bare (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)")
		other, _ := harness.OpenOurs(t, tw.OursDSN, harness.Counters("bare", "n"))
		_, err := countermysql.Check(t.Context(), other)
		require.NoError(t, err)
		require.Contains(t, harness.Stats(t, other).Unfit[name+".bare"][0], "run countermysql init")
		_, err = countermysql.Init(t.Context(), other, nil)
		require.NoError(t, err)
		require.Empty(t, harness.Stats(t, other).Unfit)
	})
}

// records are what a logger has got.
type records struct {
	mu  sync.Mutex
	all []slog.Record
}

func (r *records) Enabled(context.Context, slog.Level) bool { return true }

func (r *records) Handle(_ context.Context, record slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, record)
	return nil
}

// taken are the records until now.
func (r *records) taken() []slog.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

func (r *records) WithAttrs([]slog.Attr) slog.Handler { return r }

func (r *records) WithGroup(string) slog.Handler { return r }

// TestMissingIsOneLine proves that all listed tables and columns that are not there yet are
// one line of level INFO in the log, once, and that one which is there and goes is no other.
func TestMissingIsOneLine(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "hot", Counters: []string{"n", "likes"}}}}
		for _, table := range []string{"zebra", "ant", "page"} {
			config.Tables = append(config.Tables, countermysql.TableConfig{Table: table, Counters: []string{"n"}})
		}
		tw := harness.NewTwin(t, srv, harness.Hot, config)
		var log records
		own := *tw.Config
		own.Logger = slog.New(&log)
		db, _ := harness.OpenOurs(t, tw.OursDSN, &own)
		name := harness.DbName(t, tw.Direct)

		harness.Affected(t, db, "UPDATE hot SET n = n + 1 WHERE id = 10")
		for _, ddl := range []string{"CREATE TABLE page (id INT PRIMARY KEY, n INT)", "DROP TABLE page", "ALTER TABLE hot ADD likes INT"} {
			harness.Affected(t, db, ddl)
			_, err := countermysql.Check(t.Context(), db) // reads the schema
			require.NoError(t, err)
		}
		all := log.taken()
		require.Len(t, all, 1)
		require.Equal(t, slog.LevelInfo, all[0].Level)
		all[0].Attrs(func(a slog.Attr) bool {
			require.Equal(t, "missing", a.Key)
			require.Equal(t, []string{name + ".ant", name + ".page", name + ".zebra", name + ".hot.likes"}, a.Value.Any())
			return true
		})
	})
}
