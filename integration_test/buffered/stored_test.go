package buffered

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestBuffered proves that an increment is acknowledged before it is stored, and stored by
// Flush, and what Stats tells meanwhile.
func TestBuffered(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		known(t, tw.Ours, 1)
		require.EqualValues(t, 1, stored(t, tw, 1))
		sent := tw.Sent.During(func() {
			for range 10 {
				require.EqualValues(t, 1, harness.Affected(t, tw.Ours, hit, 1))
			}
			require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE page SET hits = hits + 5 WHERE id = 1"))
		})
		for _, s := range sent {
			require.NotContains(t, s.Text, "INSERT")
		}
		require.EqualValues(t, 1, stored(t, tw, 1))
		b := buffer(t, tw.Ours)
		require.EqualValues(t, 11, b.Waiting)
		require.EqualValues(t, 1, b.Keys)
		require.Positive(t, b.Oldest)
		require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		require.EqualValues(t, 16, stored(t, tw, 1))
		require.EqualValues(t, 16, harness.Number(t, tw.Ours, "SELECT hits FROM page WHERE id = 1"))
		b = buffer(t, tw.Ours)
		require.Zero(t, b.Waiting)
		require.Zero(t, b.Keys)
		require.Zero(t, b.Oldest)
		require.Empty(t, b.Error)
		require.Empty(t, b.Lost)
		require.Less(t, b.Age, time.Minute)
		require.Positive(t, b.Flushes)
	})
}

// TestEveryInterval proves that what waits is stored without anybody's doing, and that cold
// keys lose their slots as usual.
func TestEveryInterval(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := pages(1000)
		config.Rollup, config.Tables[0].Buffered.Every = time.Minute, 50*time.Millisecond
		tw := harness.NewTwin(t, srv, schema, config)
		opened(t, tw.Ours)
		known(t, tw.Ours, 1)
		for range 100 {
			harness.Affected(t, tw.Ours, hit, 1)
		}
		require.Eventually(t, func() bool { return stored(t, tw, 1) == 101 }, 20*time.Second, 20*time.Millisecond)
		require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM page_slots") == 0 }, 20*time.Second, 50*time.Millisecond)
		require.EqualValues(t, 101, stored(t, tw, 1))
	})
}

// TestManyCallers proves that what many callers of several buffers, as several processes have
// them, were told is what is stored, whoever flushes and whatever else writes.
func TestManyCallers(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := pages(1000)
		config.Rollup, config.Tables[0].Buffered.Every = 2*time.Second, 20*time.Millisecond
		tw := harness.NewTwin(t, srv, schema, config)
		all := []*sql.DB{tw.Ours}
		for range 2 {
			own := *tw.Config
			own.Interceptor = nil
			db, _ := harness.OpenOurs(t, tw.OursDSN, &own)
			all = append(all, db)
		}
		for _, db := range all {
			opened(t, db)
		}
		before := int64(0)
		for id := 1; id <= 8; id++ {
			before += stored(t, tw, id)
		}
		var told atomic.Int64
		var c harness.Crowd
		c.Run(32, func(i int) {
			db := all[i%len(all)]
			s, err := db.PrepareContext(t.Context(), hit)
			if !c.Check(err) {
				return
			}
			defer s.Close()
			for k := range 300 {
				id := 1 + (i+k)%8
				switch k % 60 {
				case 7:
					c.Check(countermysql.Flush(t.Context(), db))
				case 11: // not buffered
					_, err := db.ExecContext(t.Context(), "UPDATE page SET title = ? WHERE id = ?", fmt.Sprint(k), id)
					c.Check(err)
				case 31:
					res, err := db.ExecContext(t.Context(), "UPDATE page SET hits = hits + 1 WHERE id = ? AND title <> 'x'", id)
					if c.Check(err) {
						n, _ := res.RowsAffected()
						told.Add(n)
					}
				default:
					res, err := s.ExecContext(t.Context(), id)
					if c.Check(err) {
						n, _ := res.RowsAffected()
						told.Add(n)
					}
				}
			}
		})
		for _, db := range all {
			require.NoError(t, countermysql.Flush(t.Context(), db))
		}
		sum := int64(0)
		for id := 1; id <= 8; id++ {
			sum += stored(t, tw, id)
		}
		require.Equal(t, told.Load(), sum-before)
		require.Greater(t, buffer(t, tw.Ours).Acknowledged, int64(1000))
	})
}

// TestCloseStores proves that sql.DB.Close stores what waits, and leaves nothing of the
// process in the table of flushes; and that a connection that is still open counts as usual.
func TestCloseStores(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		own := *tw.Config
		db, _ := harness.OpenOurs(t, tw.OursDSN, &own)
		opened(t, db)
		known(t, db, 1)
		held, err := db.Conn(t.Context())
		require.NoError(t, err)
		for range 7 {
			harness.Affected(t, held, hit, 1)
		}
		require.EqualValues(t, 1, stored(t, tw, 1))
		require.NoError(t, db.Close())
		require.EqualValues(t, 8, stored(t, tw, 1))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM countermysql_flushes"), "that of the twin")
		_, _ = held.ExecContext(t.Context(), hit, 1) // it may be refused
		_ = held.Close()
		require.GreaterOrEqual(t, stored(t, tw, 1), int64(8))
	})
}

// TestTransactionsAreNotBuffered proves that what a transaction counts is stored by its
// COMMIT, and that statements which are more than an increment by key are not buffered.
func TestTransactionsAreNotBuffered(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newPages(t, srv, 1000)
		known(t, tw.Ours, 1, 2)
		before := buffer(t, tw.Ours).Acknowledged
		tx, err := tw.Ours.Begin()
		require.NoError(t, err)
		require.EqualValues(t, 1, harness.Affected(t, tx, hit, 1))
		require.NoError(t, tx.Commit())
		require.EqualValues(t, 2, stored(t, tw, 1))
		conn := harness.Session(t, tw.Ours)
		for _, stmt := range []string{"SET autocommit = 0", hit1, "COMMIT", "SET autocommit = 1", "BEGIN", hit1, "COMMIT", hit1} { // the last in a session that was changed
			harness.Affected(t, conn, stmt)
		}
		require.EqualValues(t, 5, stored(t, tw, 1))
		for i, stmt := range []string{
			"UPDATE page SET hits = hits + 1 WHERE id = 1 AND title = ''",
			"UPDATE page SET hits = hits + 1 WHERE id IN (1, 2)",
			"UPDATE page SET hits = hits + 1 WHERE id = 1 AND hits < 1000",
			"UPDATE page SET hits = hits + 1, title = 'x' WHERE id = 1",
			"INSERT INTO page (id, hits) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = hits + 1",
		} {
			harness.Affected(t, tw.Ours, stmt)
			require.EqualValues(t, 6+i, stored(t, tw, 1), stmt)
		}
		require.Equal(t, before, buffer(t, tw.Ours).Acknowledged)
	})
}

const hit1 = "UPDATE page SET hits = hits + 1 WHERE id = 1"

// TestRowsAffected proves that callers are told what plain MySQL tells, of rows that are there
// and of others.
func TestRowsAffected(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range [][]string{nil, {"clientFoundRows=true"}, {"interpolateParams=true"}} {
			tw := newPages(t, srv, 1000, params...)
			known(t, tw.Ours, 1)
			harness.Affected(t, tw.Plain, hit, 1)
			for range 3 {
				for _, x := range []struct {
					stmt string
					args []any
				}{
					{hit, []any{1}}, {hit, []any{10}}, {"UPDATE page SET hits = hits + ? WHERE id = ?", []any{3, 1}}, {"UPDATE page SET hits = hits + ? WHERE id = ?", []any{0, 1}},
					{"UPDATE page SET hits = hits - ? WHERE id = ?", []any{2, 1}}, {"UPDATE page SET likes = likes + 1 WHERE id = ?", []any{1}},
					{"UPDATE page SET hits = hits + 1 WHERE id = ?", []any{"1"}}, {"UPDATE page SET hits = hits + 1 WHERE id = ?", []any{"1x"}}, {"UPDATE page SET hits = hits + 1 WHERE id = ?", []any{nil}},
				} {
					require.Equal(t, answer(tw.Plain, x.stmt, x.args...), answer(tw.Ours, x.stmt, x.args...), "%s %v", x.stmt, x.args)
				}
			}
			require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
			tw.Same(t, "SELECT id, hits, likes FROM page WHERE id < 9 ORDER BY id")
			require.Greater(t, buffer(t, tw.Ours).Acknowledged, int64(5))
		}
	})
}

func answer(db *sql.DB, stmt string, args ...any) string {
	res, err := db.ExecContext(context.Background(), stmt, args...)
	if err != nil {
		return harness.Told(err)
	}
	n, _ := res.RowsAffected()
	id, _ := res.LastInsertId()
	return fmt.Sprint(n, " ", id)
}

// TestBufferedCounters proves that of a table's counters those wait in memory that are listed, beside one
// that is derived and one that is stored at once, all with a history.
func TestBufferedCounters(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("page", "hits", "likes", "links")
		config.Tables[0].Buffered = &countermysql.Buffered{Every: time.Hour, Counters: []string{"HITS"}}
		config.Tables[0].Derived = map[string]string{"links": "SELECT page_id, COUNT(*) FROM link GROUP BY page_id"}
		config.Tables[0].History = &countermysql.History{}
		tw := harness.NewTwin(t, srv, "CREATE TABLE page (id INT PRIMARY KEY, hits BIGINT NOT NULL DEFAULT 0, likes INT NOT NULL DEFAULT 0, links INT NOT NULL DEFAULT 0);\n"+
			"INSERT INTO page (id) VALUES (1), (9);\nCREATE TABLE link (id INT AUTO_INCREMENT PRIMARY KEY, page_id INT)", config)
		_, err := countermysql.Init(t.Context(), tw.Ours, nil)
		require.NoError(t, err)
		opened(t, tw.Ours)
		known(t, tw.Ours, 1)
		const like, both = "UPDATE page SET likes = likes + 1 WHERE id = 1", "UPDATE page SET hits = hits + 1, likes = likes + 1 WHERE id = 1"
		for stmt, reason := range map[string]string{like: "not buffered: counter likes is not buffered", both: "not buffered: counter likes is not buffered", "UPDATE page SET hits = hits + 1 WHERE id = 1": ""} {
			e, err := countermysql.Explain(t.Context(), tw.Ours, stmt)
			require.NoError(t, err)
			require.Equal(t, reason, e.Reason, stmt)
			require.Equal(t, reason == "", e.Class == countermysql.ClassBuffered, stmt)
		}
		harness.Affected(t, tw.Ours, hit, 1)
		harness.Affected(t, tw.Ours, like)
		harness.Affected(t, tw.Ours, both)
		harness.Affected(t, tw.Ours, "INSERT INTO link (page_id) VALUES (1)")
		values := func() int64 {
			return harness.Number(t, tw.Ours, "SELECT 100 * hits + 10 * likes + links FROM page WHERE id = 1")
		}
		require.EqualValues(t, 221, values())
		require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		require.EqualValues(t, 321, values())
		harness.RollUp(t, tw.Ours)
		require.EqualValues(t, 321, harness.Number(t, tw.Direct, "SELECT SUM(100 * hits + 10 * likes + links) FROM page_history WHERE id = 1"))
	})
}

// TestExplained proves that Explain tells what is buffered, and why something is not.
func TestExplained(t *testing.T) {
	eachWay(t, func(t *testing.T, srv *testserver.Server, w way) {
		tw := newPages(t, srv, 1000)
		known(t, tw.Ours, 1)
		w.begin(t, srv, tw)
		e, err := countermysql.Explain(t.Context(), tw.Ours, hit, 1)
		require.NoError(t, err)
		require.EqualValues(t, "buffered", e.Class)
		require.Empty(t, e.Reason)
		sent := tw.Sent.During(func() {
			harness.Affected(t, tw.Ours, hit, 1)
			require.NoError(t, countermysql.Flush(t.Context(), tw.Ours))
		})
		steps := e.Steps[:1]
		if w == inTransaction {
			steps = e.Steps[:2]
		}
		for _, step := range steps {
			found := false
			for _, s := range sent {
				found = found || withoutSlot(s.Text) == withoutSlot(step.SQL)
			}
			require.True(t, found, "%s is not among %v", step.SQL, sent)
		}
		for stmt, why := range map[string]string{
			"UPDATE page SET hits = hits + 1 WHERE id = 1 AND title = ''":                       "not buffered: its condition has more than the primary key",
			"UPDATE page SET hits = hits + 1 WHERE id IN (1, 2)":                                "not buffered: it may be of several rows",
			"INSERT INTO page (id, hits) VALUES (1, 1) ON DUPLICATE KEY UPDATE hits = hits + 1": "not buffered: it may insert a row",
		} {
			e, err := countermysql.Explain(t.Context(), tw.Ours, stmt)
			require.NoError(t, err)
			require.EqualValues(t, "increment", e.Class, stmt)
			require.Equal(t, why, e.Reason, stmt)
		}
	})
}

// withoutSlot leaves out the numbers of the slot and of the flush, and who flushes: they are others each time.
func withoutSlot(text string) string {
	return flushNumber.ReplaceAllString(slotNumber.ReplaceAllString(text, "SELECT ?, "), "$1 $2 ?")
}

var (
	slotNumber  = regexp.MustCompile(`SELECT ([^,]*, )?\d+( AS ` + "`slot`" + `)?, `)
	flushNumber = regexp.MustCompile(`(batch|flusher|settled) ([<=]) (\d+|'\w+')`)
)

// TestWithoutItsTable proves that nothing is acknowledged before it is stored where the
// server has no place for flushes, and that it is as soon as there is one.
func TestWithoutItsTable(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("page", "hits", "likes")) // makes the slots table
		own := *pages(1000)
		own.Logger = slog.New(slog.DiscardHandler)
		db, _ := harness.OpenOurs(t, tw.OursDSN, &own)
		for i := range 5 {
			require.EqualValues(t, 1, harness.Affected(t, db, hit, 1))
			require.EqualValues(t, i+1, stored(t, tw, 1))
		}
		require.Eventually(t, func() bool { return buffer(t, db).Failures > 0 }, 20*time.Second, 10*time.Millisecond)
		require.Contains(t, buffer(t, db).Error, "countermysql init")
		require.Zero(t, buffer(t, db).Acknowledged)
		_, err := countermysql.Init(t.Context(), db, nil)
		require.NoError(t, err)
		opened(t, db)
	})
}
