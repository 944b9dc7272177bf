package buffered

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestOneStatement proves that a flush of many rows is one statement, after which nothing is in slots.
func TestOneStatement(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		harness.Affected(t, tw.Direct, "UPDATE page SET likes = 0 WHERE id > 4")
		count := func() {
			for id := 1; id <= 8; id++ {
				harness.Affected(t, tw.Ours, hit, id)
				if id > 4 {
					harness.Affected(t, tw.Ours, "UPDATE page SET hits = hits - 3, likes = likes + 2 WHERE id = ?", id)
				}
			}
			harness.Affected(t, tw.Ours, "UPDATE page SET hits = hits + 2 WHERE id = 8") // likes alone are left
		}
		count() // what is not known goes as usual
		require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		harness.RollUp(t, tw.Ours)
		count()
		var texts []string
		for _, s := range tw.Sent.During(func() { require.NoError(t, countermysql.Flush(t.Context(), tw.Ours)) }) {
			texts = append(texts, s.Text)
		}
		require.Len(t, texts, 1)
		require.True(t, atOnce.stores(texts[0]), texts[0])
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM page_slots"))
		for id := 1; id <= 8; id++ {
			hits, likes := 2, 0
			if id > 4 {
				hits, likes = -4, 4
			}
			if id == 8 {
				hits = 0
			}
			require.EqualValues(t, hits, harness.Number(t, tw.Direct, "SELECT hits FROM page WHERE id = ?", id), id)
			require.EqualValues(t, likes, harness.Number(t, tw.Direct, "SELECT COALESCE(likes, 0) FROM page WHERE id = ?", id), id)
		}
	})
}

// TestOneStatementOfKeys proves that a flush by one statement leaves what plain increments do, whatever the
// types of the key and of the counter.
func TestOneStatementOfKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, of := range map[string]struct {
			key, counter, values string
			amount               string
			args                 [][]any
		}{
			"text":      {"a VARCHAR(20) COLLATE utf8mb4_unicode_ci, PRIMARY KEY (a)", "BIGINT UNSIGNED", "('Äpfel', 7), ('birnen', 7), ('', 7)", "1", [][]any{{"äpfel"}, {"BIRNEN"}, {""}}},
			"binary":    {"a VARBINARY(9), PRIMARY KEY (a)", "INT", "(X'00FF', 1), (X'80', 1)", "-3", [][]any{{[]byte{0, 255}}, {[]byte{128}}}},
			"several":   {"a INT, b CHAR(3), PRIMARY KEY (b, a)", "SMALLINT", "(1, 'x', 0), (2, 'x', 0), (1, 'y', 0)", "2", [][]any{{1, "x"}, {2, "x"}, {1, "y"}}},
			"date":      {"a DATE, PRIMARY KEY (a)", "BIGINT", "('2026-02-01', 0), ('2026-02-03', 9)", "5", [][]any{{"2026-02-01"}, {"2026-02-03"}}},
			"signed":    {"a BIGINT, PRIMARY KEY (a)", "TINYINT", "(-9223372036854775808, 0), (9223372036854775807, 0)", "4", [][]any{{int64(-9223372036854775808)}, {int64(9223372036854775807)}}},
			"unsigned":  {"a BIGINT UNSIGNED, PRIMARY KEY (a)", "INT UNSIGNED", "(18446744073709551615, 5), (0, 5)", "2", [][]any{{uint64(18446744073709551615)}, {0}}},
			"generated": {"a INT, PRIMARY KEY (a), next INT AS (a + 1) STORED", "DECIMAL(20,4)", "(1, 0.25), (2, 0)", "0.125", [][]any{{1}, {2}}},
		} {
			t.Run(name, func(t *testing.T) {
				config := harness.Counters("page", "n")
				config.Tables[0].Buffered = &countermysql.Buffered{Every: time.Hour}
				columns := "a, n"
				where := "a = ?"
				if len(of.args[0]) > 1 {
					columns, where = "a, b, n", "a = ? AND b = ?"
				}
				key := strings.Replace(of.key, ", PRIMARY", ", n "+of.counter+" NOT NULL, PRIMARY", 1)
				tw := harness.NewTwin(t, srv, "CREATE TABLE page ("+key+") DEFAULT CHARSET=utf8mb4;\nINSERT INTO page ("+columns+") VALUES "+of.values, config)
				stmt := "UPDATE page SET n = n + " + of.amount + " WHERE " + where
				count := func() {
					for _, args := range of.args {
						require.EqualValues(t, 1, harness.Affected(t, tw.Ours, stmt, args...))
						require.EqualValues(t, 1, harness.Affected(t, tw.Plain, stmt, args...))
					}
				}
				require.Eventually(t, func() bool {
					count()
					return buffer(t, tw.Ours).Acknowledged > 0
				}, 30*time.Second, 20*time.Millisecond)
				count() // all rows are known
				require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
				harness.RollUp(t, tw.Ours)
				count()
				require.EqualValues(t, len(of.args), buffer(t, tw.Ours).Waiting)
				var texts []string
				for _, s := range tw.Sent.During(func() { require.NoError(t, countermysql.Flush(t.Context(), tw.Ours)) }) {
					texts = append(texts, s.Text)
				}
				require.Len(t, texts, 1)
				tw.Same(t, "SELECT * FROM page")
			})
		}
	})
}

// TestSpelledKeys proves that increments of one row whose key callers spell in several ways are all stored.
func TestSpelledKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("page", "n")
		config.Tables[0].Buffered = &countermysql.Buffered{Every: time.Hour}
		tw := harness.NewTwin(t, srv, "CREATE TABLE page (a VARCHAR(20) COLLATE utf8mb4_unicode_ci PRIMARY KEY, n INT NOT NULL DEFAULT 0) DEFAULT CHARSET=utf8mb4;\nINSERT INTO page (a) VALUES ('apple'), ('pear')", config)
		told := int64(0)
		count := func() {
			for _, a := range []string{"apple", "APPLE", "Apple", "äpple", "pear", "pear "} {
				told += harness.Affected(t, tw.Ours, "UPDATE page SET n = n + 1 WHERE a = ?", a)
			}
		}
		require.Eventually(t, func() bool {
			count()
			return buffer(t, tw.Ours).Acknowledged > 0
		}, 30*time.Second, 20*time.Millisecond)
		for range 3 {
			count()
			require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
			require.Equal(t, told, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM page"))
		}
		require.Empty(t, buffer(t, tw.Ours).Lost)
	})
}

// TestRefusedStatement proves that what the server refuses to store in a statement goes in a transaction, and
// that where it had to wait for a lock, what comes next does not wait there again.
func TestRefusedStatement(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1, 2)
		for i, number := range []uint16{1264, 1690, 3819, 1054, 1205, 1205} {
			harness.Affected(t, db, hit, 1)
			harness.Affected(t, db, hit, 2)
			var tries atomic.Int64
			m.set(func(_ context.Context, query string, send func(string) error) error {
				if atOnce.stores(query) {
					tries.Add(1)
					return &mysql.MySQLError{Number: number, Message: "refused by the test"}
				}
				return send(query)
			})
			require.NoError(t, countermysql.Flush(t.Context(), db))
			for id := 1; id <= 2; id++ {
				require.EqualValues(t, 2+i, stored(t, tw, id), number)
			}
			require.Equal(t, i < 5, tries.Load() > 0)
		}
	})
}

// TestLockedIndex proves that rows whose counter has an index of which somebody has locked a range are not kept
// locked flush by flush.
func TestLockedIndex(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema+";\nALTER TABLE page ADD INDEX (hits)", pages(1000))
		opened(t, tw.Ours)
		known(t, tw.Ours, 1, 2)
		harness.RollUp(t, tw.Ours)
		harness.Affected(t, tw.Direct, "UPDATE page SET hits = 900 WHERE id = 1")
		holder, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer holder.Rollback()
		harness.Number(t, holder, "SELECT COUNT(*) FROM (SELECT 1 FROM page WHERE hits > 1000 FOR UPDATE) x")
		for i := range 3 {
			harness.Affected(t, tw.Ours, "UPDATE page SET hits = hits + 500 WHERE id = 1")
			harness.Affected(t, tw.Ours, hit, 2)
			waited := false
			for _, sent := range tw.Sent.During(func() { require.NoError(t, countermysql.Flush(t.Context(), tw.Ours)) }) {
				waited = waited || atOnce.stores(sent.Text)
			}
			require.Equal(t, i == 0, waited)
		}
		require.EqualValues(t, 2400, stored(t, tw, 1))
	})
}

// TestLateStatement proves that a flush whose answer was lost counts once, also if its statement gets to the
// server when it has been settled, and sent again.
func TestLateStatement(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1)
		for i := range 3 {
			harness.Affected(t, db, hit, 1)
			var late string
			m.set(func(_ context.Context, query string, send func(string) error) error {
				if late == "" && atOnce.stores(query) {
					late = query
					return mysql.ErrInvalidConn
				}
				return send(query)
			})
			require.NoError(t, countermysql.Flush(t.Context(), db))
			require.EqualValues(t, 2+i, stored(t, tw, 1))
			for range 2 {
				require.Zero(t, harness.Affected(t, tw.Direct, late))
			}
			require.EqualValues(t, 2+i, stored(t, tw, 1))
			require.Empty(t, buffer(t, db).Lost)
		}
	})
}

// TestFlushOfOtherKeys proves that a flush adds to no other rows than its own where another client changes the key
// right before it.
func TestFlushOfOtherKeys(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1, 2)
		harness.RollUp(t, db)
		harness.Affected(t, db, hit, 1)
		harness.Affected(t, db, hit, 2)
		var once sync.Once
		m.set(func(_ context.Context, query string, send func(string) error) error {
			if atOnce.stores(query) {
				once.Do(func() {
					harness.ExecAll(t, tw.Direct, "ALTER TABLE page DROP PRIMARY KEY, ADD PRIMARY KEY (id, title);\nINSERT INTO page (id, hits, title) VALUES (1, 100, 'x');\nDELETE FROM page WHERE id = 2")
				})
			}
			return send(query)
		})
		_ = countermysql.Flush(t.Context(), db) // it tells what is lost
		require.EqualValues(t, 100, harness.Number(t, tw.Direct, "SELECT hits FROM page WHERE id = 1 AND title = 'x'"))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT hits FROM page WHERE id = 1 AND title = ''"))
	})
}
