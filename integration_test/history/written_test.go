package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// script has all ways in which counters change, but for other clients'.
var script = []string{
	"A: UPDATE post SET likes = likes + 1 WHERE id = 1",
	"A: UPDATE post SET likes = likes + 1, views = views + 2, score = score + 0.25 WHERE id = 1",
	"A: UPDATE post SET views = views + 1 WHERE id = 2", // NULL
	"A: UPDATE post SET likes = likes - 5 WHERE id IN (3, 4)",
	"A: UPDATE post SET title = 'none' WHERE id = 3",
	"A: begin", "A: UPDATE post SET likes = likes + 7 WHERE id = 1", "A: UPDATE post SET likes = likes + 1, title = 'x' WHERE id = 5", "A: SELECT likes FROM post WHERE id = 1", "A: commit",
	"A: begin", "A: UPDATE post SET likes = likes + 100 WHERE id = 1", "A: UPDATE post SET likes = 3 WHERE id = 4", "A: rollback",
	"A: UPDATE post SET likes = likes + 4 WHERE id = 6", "A: UPDATE post SET likes = 0 WHERE id = 6", // what is in slots first
	"A: UPDATE post SET likes = likes + 4 WHERE id = 7", "A: begin", "A: UPDATE post SET likes = 2, score = 3.5 WHERE id = 7", "A: commit",
	"A: UPDATE post SET views = NULL WHERE id = 1",
	"A: UPDATE post SET views = 18446744073709551615 WHERE id = 3", "A: UPDATE post SET views = 1 WHERE id = 3",
	"A: UPDATE post SET stock = stock - 1 WHERE id = 1 AND stock >= 1", "A: UPDATE post SET stock = stock - 1000 WHERE id = 1 AND stock >= 1000",
	"A: begin", "A: UPDATE post SET stock = stock - 3 WHERE id = 1 AND stock >= 3", "A: commit",
	"A: begin", "A: SELECT likes FROM post WHERE id = 8 FOR UPDATE", "A: UPDATE post SET likes = likes * 2 + 3 WHERE id = 8", "A: UPDATE post SET likes = likes + 1 WHERE id = 8", "A: UPDATE post SET stock = stock - 1 WHERE id = 8 AND stock >= 1", "A: commit", // without slots
	"A: begin", "A: SELECT likes FROM post WHERE id = 1 FOR UPDATE", "A: UPDATE post SET likes = likes + 1 WHERE id = 1", "A: UPDATE post SET likes = likes * 2 WHERE id = 1", "A: commit",
	"A: UPDATE post SET stock = stock - 1000 WHERE id = 2", // out of range
	"A: INSERT INTO post (id, likes, score) VALUES (11, 3, 0.75), (12, 0, 0)",
	"A: INSERT INTO post (id, likes) VALUES (1, 1) ON DUPLICATE KEY UPDATE likes = likes + 1",
	"A: INSERT INTO post (id, likes) VALUES (13, 1) ON DUPLICATE KEY UPDATE likes = likes + 1",
	"A: INSERT INTO post (id, likes) VALUES (1, 1) ON DUPLICATE KEY UPDATE likes = VALUES(likes), title = 'y'",
	"A: INSERT INTO post (id) VALUES (1)", // duplicate
	"A: UPDATE post SET likes = likes + views WHERE id < 5",
	"A: UPDATE post SET likes = GREATEST(likes - 2, 0)",
	"A: UPDATE post a JOIN post b ON a.id = b.id + 1 SET a.likes = b.likes",
	"A: SELECT * FROM post ORDER BY id",
}

// TestWritten proves that the history is the change of each counter, whatever statement
// makes it, that nothing of a rollback is in it, and that statements answer as without a
// history.
func TestWritten(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, rollup := range map[string]time.Duration{"slots": countermysql.RollupNever, "cold": time.Hour} {
			t.Run(name, func(t *testing.T) {
				config := posts(time.Hour)
				config.Rollup = rollup
				tw, before := newPosts(t, srv, config)
				tw.Play(t, script...)
				written(t, tw, before)
				for _, db := range []*sql.DB{tw.Plain, tw.Direct} { // another client
					harness.Affected(t, db, "UPDATE post SET likes = likes + 1 WHERE id > 2")
				}
				tw.Play(t, script[len(script)-5:]...)
				harness.RollUp(t, tw.Ours)
				written(t, tw, before)
				tw.Same(t, "SELECT * FROM post ORDER BY id")
			})
		}
	})
}

// TestLoad proves the same while many do it at once, without a deadlock.
func TestLoad(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := posts(time.Minute)
		config.Rollup = 2 * time.Second
		tw, before := newPosts(t, srv, config, "innodb_lock_wait_timeout=50")
		var crowd harness.Crowd
		end := time.Now().Add(4 * time.Second)
		write := func(db *sql.DB, client int) {
			ctx := context.Background()
			for n := 0; time.Now().Before(end); n++ {
				a, b := 1+rand.N(2), 3+rand.N(6)
				var stmts []string
				switch (n + client) % 8 {
				case 0, 1:
					stmts = []string{fmt.Sprintf("UPDATE post SET likes = likes + 1 WHERE id = %d", a), fmt.Sprintf("UPDATE post SET score = score + 0.25 WHERE id = %d", b)}
				case 2:
					stmts = []string{fmt.Sprintf("UPDATE post SET likes = %d WHERE id = %d", n, b)}
				case 3:
					stmts = []string{fmt.Sprintf("SELECT likes FROM post WHERE id = %d FOR UPDATE", b), fmt.Sprintf("UPDATE post SET likes = likes + %d WHERE id = %d", n, b)}
				default:
					_, err := db.ExecContext(ctx, "UPDATE post SET likes = likes + 1, views = views + 1 WHERE id = ?", a)
					crowd.Check(err)
					_, err = db.ExecContext(ctx, "UPDATE post SET stock = stock - 1 WHERE id = ? AND stock >= 1", a)
					crowd.Check(err)
					continue
				}
				crowd.Check(harness.InTransaction(ctx, db, sql.LevelRepeatableRead, stmts))
			}
		}
		crowd.Run(12, func(i int) { write(tw.Ours, i) }, func(i int) {
			for time.Now().Before(end) {
				_, err := tw.Direct.Exec("UPDATE post SET likes = likes + 1 WHERE id = 9")
				crowd.Check(err)
				_, err = countermysql.Rollup(context.Background(), tw.Ours, nil)
				crowd.Check(err)
			}
		})
		crowd.NoDeadlocks(t)
		harness.RollUp(t, tw.Ours)
		written(t, tw, before)
	})
}

// TestWhatIsInSlots proves that the history lacks what is in slots, until a rollup, and that
// a value which is overwritten is in it as if it had been in the base row.
func TestWhatIsInSlots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, before := newPosts(t, srv, posts(time.Hour))
		sum := func(id int) int64 {
			return harness.Number(t, tw.Direct, "SELECT COALESCE(SUM(likes), 0) FROM post_history WHERE id = ?", id)
		}
		for id := 1; id <= 3; id++ {
			harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 5 WHERE id = ?", id)
			require.Zero(t, sum(id))
		}
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = 0 WHERE id = 1") // was 15
		require.EqualValues(t, -10, sum(1))
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes * 2 WHERE id = 2") // was 2
		require.EqualValues(t, 7, sum(2))
		harness.RollUp(t, tw.Ours)
		require.EqualValues(t, 5, sum(3))
		written(t, tw, before)
	})
}

// TestIntervals proves that an interval begins in UTC, whatever the time zone of the session,
// and that each has a row.
func TestIntervals(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := posts(24 * time.Hour)
		config.Rollup = time.Hour
		tw, before := newPosts(t, srv, config)
		other := harness.Session(t, tw.Direct)
		for _, stmt := range []string{
			"SET time_zone = '+05:30', timestamp = 1000000000", "UPDATE post SET likes = likes + 1 WHERE id = 1", // 2001-09-09 01:46:40
			"SET time_zone = '-11:00', timestamp = 1000079999", "UPDATE post SET likes = likes + 2 WHERE id = 1", // 23:59:59
			"SET timestamp = 1000080000", "UPDATE post SET likes = likes + 4 WHERE id = 1", "UPDATE post SET likes = likes - 9 WHERE id = 1",
		} {
			_, err := other.ExecContext(t.Context(), stmt)
			require.NoError(t, err)
		}
		harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 8 WHERE id = 1")
		got := harness.QueriedList(t, tw.Direct, "SELECT CONCAT(bucket, ' ', likes) FROM post_history WHERE id = 1 ORDER BY bucket")
		require.Len(t, got, 3)
		require.Equal(t, []string{"2001-09-09 00:00:00 3", "2001-09-10 00:00:00 -5"}, got[:2])
		require.True(t, strings.HasSuffix(got[2], " 00:00:00 8"), got[2])
		written(t, tw, before)
	})
}

// TestKeys proves that rows of every kind of key have a history.
func TestKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := &countermysql.Config{}
		for _, table := range []string{"word", "pair", "site"} {
			config.Tables = append(config.Tables, countermysql.TableConfig{Table: table, Counters: []string{"n", "bucket"}, History: &countermysql.History{}})
		}
		tw := harness.NewTwin(t, srv, "CREATE TABLE word (w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, n INT NOT NULL DEFAULT 0, bucket INT NOT NULL DEFAULT 0);\n"+
			"CREATE TABLE pair (`of the` DATE, b BINARY(2), n BIGINT NOT NULL DEFAULT 0, bucket INT NOT NULL DEFAULT 0, at TIMESTAMP NULL, PRIMARY KEY (`of the`, b));\n"+
			"CREATE TABLE site (n BIGINT NOT NULL DEFAULT 0, bucket SMALLINT NOT NULL DEFAULT 0);\n", config)
		initialize(t, tw.Ours)
		require.Empty(t, initialize(t, tw.Ours))
		tw.Play(t, "A: INSERT INTO word (w) VALUES ('a'), ('A'), ('ä ')", "A: UPDATE word SET n = n + 1, bucket = bucket - 1 WHERE w = 'A'", "A: UPDATE word SET n = n + 2 WHERE w = 'ä '",
			"A: INSERT INTO pair (`of the`, b) VALUES ('2026-02-01', 'xy')", "A: UPDATE pair SET n = n + 1 WHERE `of the` = '2026-02-01' AND b = 'xy'",
			"A: INSERT INTO site (n) VALUES (3)", "A: UPDATE site SET n = n + 4, bucket = bucket + 1")
		harness.RollUp(t, tw.Ours)
		for query, want := range map[string][]string{
			"SELECT CONCAT_WS('|', w, n, bucket) FROM word_history ORDER BY 1": {"A|1|-1", "ä |2|0"},
			"SELECT CONCAT_WS('|', `of the`, b, n, bucket) FROM pair_history":  {"2026-02-01|xy|1|0"},
			"SELECT CONCAT_WS('|', n, bucket) FROM site_history":               {"7|1"},
		} {
			require.Equal(t, want, harness.QueriedList(t, tw.Direct, query), query)
		}
		findings, err := countermysql.Check(t.Context(), tw.Ours)
		require.NoError(t, err)
		require.Empty(t, harness.OnTables(findings))
	})
}

// TestDeleted proves that nothing takes from the history what a row had when it ended, and
// that a row with another key has another history from then on.
func TestDeleted(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, _ := newPosts(t, srv, posts(time.Hour))
		sum := func(id int) int64 {
			return harness.Number(t, tw.Direct, "SELECT COALESCE(SUM(likes), 0) FROM post_history WHERE id = ?", id)
		}
		tw.Play(t, "A: UPDATE post SET likes = likes + 5 WHERE id = 3", "A: DELETE FROM post WHERE id = 3", "A: INSERT INTO post (id, likes) VALUES (3, 2)", "A: REPLACE INTO post (id, likes) VALUES (3, 4)")
		require.EqualValues(t, 5+2+4, sum(3))
		tw.Play(t, "A: UPDATE post SET likes = likes + 5 WHERE id = 4", "A: UPDATE post SET id = 44, likes = likes + 1 WHERE id = 4", "A: UPDATE post SET likes = likes + 1 WHERE id = 44")
		harness.RollUp(t, tw.Ours)
		require.EqualValues(t, 5, sum(4))
		require.EqualValues(t, 2, sum(44))
		tw.Play(t, "A: TRUNCATE TABLE post")
		require.EqualValues(t, 2, sum(44))
	})
}

// TestReadsHistory proves that a statement which reads the history table can't change a counter,
// whoever sends it, and that two statements can.
func TestReadsHistory(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, before := newPosts(t, srv, posts(time.Hour))
		for _, db := range []*sql.DB{tw.Ours, tw.Direct} {
			_, err := db.Exec("UPDATE post SET likes = (SELECT COUNT(*) FROM post_history) WHERE id = 1")
			require.Equal(t, 1442, harness.ErrorNumber(err))
			require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE post SET likes = likes + ? WHERE id = 1", harness.Number(t, db, "SELECT COUNT(*) + 1 FROM post_history WHERE likes > 1000")))
		}
		harness.RollUp(t, tw.Ours)
		written(t, tw, before)
	})
}

// documented are the queries of docs/history.md, and those of the dashboard.
func documented(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/history.md")
	require.NoError(t, err)
	for _, q := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		queries = append(queries, q[1])
	}
	text, err = os.ReadFile("../../metrics/countermysqlprom/grafana-history.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Targets []struct{ RawSQL string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.RawSQL)
		}
	}
	require.Len(t, queries, 4)
	return queries
}

// TestDocumentedQueries runs the queries of docs/history.md and of its dashboard, with what
// Grafana puts in for the macros, in a session whose time zone is not UTC, in which times are
// right all the same.
func TestDocumentedQueries(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, _ := newPosts(t, srv, posts(time.Hour))
		harness.Affected(t, tw.Direct, "UPDATE post SET likes = likes + 1 WHERE id IN (1, 2)")
		bucket := harness.Number(t, tw.Direct, "SELECT TIMESTAMPDIFF(SECOND, '1970-01-01', bucket) FROM post_history WHERE id = 1")
		from, to := strconv.FormatInt(bucket-600, 10), strconv.FormatInt(bucket+600, 10)
		for _, q := range documented(t) {
			query := strings.NewReplacer("${id:sqlstring}", "'1'", "$__unixEpochFrom()", from, "$__unixEpochTo()", to, "$__timeFilter(bucket)", "bucket BETWEEN FROM_UNIXTIME("+from+") AND FROM_UNIXTIME("+to+")").Replace(q)
			require.NotContains(t, query, "$")
			for _, db := range []*sql.DB{tw.Ours, tw.Direct} {
				conn := harness.Session(t, db)
				_, err := conn.ExecContext(t.Context(), "SET time_zone = '+05:30'")
				require.NoError(t, err)
				var of, likes int64
				require.NoError(t, conn.QueryRowContext(t.Context(), query).Scan(&of, &likes), query)
				require.EqualValues(t, 1, likes)
				if strings.Contains(query, "AS time") {
					require.Equal(t, bucket, of)
				}
			}
		}
	})
}
