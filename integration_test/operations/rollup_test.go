package operations

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const manyShapes = `
CREATE TABLE post (id BIGINT UNSIGNED PRIMARY KEY, title VARCHAR(30), likes INT NOT NULL DEFAULT 0, views BIGINT UNSIGNED NULL DEFAULT 0,
  changed TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), seen DATETIME NULL);
INSERT INTO post (id, likes, views, changed) VALUES (1, 10, NULL, '2020-02-02 02:02:02.123456'), (2, -5, 7, '2020-02-02 02:02:02'), (18446744073709551615, 0, 0, '2020-02-02 02:02:02');
CREATE TABLE daily (path VARCHAR(40) COLLATE utf8mb4_general_ci, day DATE, kind ENUM('a', 'b') NOT NULL, hits DECIMAL(20, 4) NOT NULL DEFAULT 0, PRIMARY KEY (path, day, kind));
INSERT INTO daily VALUES ('/', '2024-01-01', 'a', 1.5), ('/Ä''"\\', '2024-01-01', 'b', 2), ('/', '2024-01-02', 'b', -3.25);
CREATE TABLE file (hash VARBINARY(8) PRIMARY KEY, n SMALLINT NOT NULL DEFAULT 0);
INSERT INTO file VALUES ('abc', 3), ('', 4), (x'00', 5);
CREATE TABLE total (visits INT NOT NULL);
INSERT INTO total VALUES (100);
CREATE TABLE tagged (code CHAR(3) NOT NULL, at DATETIME(3) NOT NULL, uses INT NOT NULL DEFAULT 0, UNIQUE KEY (code, at));
INSERT INTO tagged VALUES ('x', '2024-05-05 05:05:05.123', 1), ('y', '2024-05-05 05:05:05', 1);
`

var manyCounters = &countermysql.Config{Slots: 4, Tables: []countermysql.TableConfig{
	{Table: "post", Counters: []string{"likes", "views"}, Touch: []string{"seen"}},
	{Table: "daily", Counters: []string{"hits"}},
	{Table: "file", Counters: []string{"n"}},
	{Table: "total", Counters: []string{"visits"}},
	{Table: "tagged", Counters: []string{"uses"}},
}}

var manyQueries = []string{
	"SELECT * FROM post ORDER BY id", "SELECT * FROM daily ORDER BY path, day, kind", "SELECT HEX(hash), n FROM file ORDER BY hash",
	"SELECT * FROM total", "SELECT * FROM tagged ORDER BY code, at",
}

// TestRollup proves that a rollup changes no value, whatever the key and the
// counter are, that afterwards the base tables say all, and that times which the
// server would set by itself do not move, except to the newest of a slot.
func TestRollup(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, manyShapes, manyCounters, "interpolateParams=true", "time_zone=%27-03%3A30%27")
		for range 20 {
			for _, stmt := range []string{
				"UPDATE post SET likes = likes + 3 WHERE id IN (1, 2)",
				"UPDATE post SET views = views + 1, seen = NOW() WHERE id = 18446744073709551615",
				"UPDATE daily SET hits = hits + 0.25 WHERE path = '/' AND day = '2024-01-01' AND kind = 'a'",
				"UPDATE daily SET hits = hits - 100 WHERE path = '/ä''\"\\\\' AND day = '2024-01-01' AND kind = 'b'",
				"UPDATE file SET n = n + 1 WHERE hash = 'abc'", "UPDATE file SET n = n - 1 WHERE hash = ''",
				"UPDATE total SET visits = visits + 2",
				"UPDATE tagged SET uses = uses + 1 WHERE code = 'X' AND at = '2024-05-05 05:05:05.123'",
			} {
				require.NotZero(t, harness.Affected(t, tw.Ours, stmt), stmt)
			}
		}
		before := map[string]string{}
		slots := int64(0)
		for _, query := range manyQueries {
			before[query] = harness.Queried(t.Context(), tw.Ours, query)
		}
		for _, table := range manyCounters.Tables {
			slots += harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM "+table.Table+"_slots")
		}
		require.Greater(t, slots, int64(4))
		done := harness.RollUp(t, tw.Ours)
		for _, query := range manyQueries {
			require.Equal(t, before[query], harness.Queried(t.Context(), tw.Ours, query), query)
			session, err := sql.Open("mysql", tw.OursDSN)
			require.NoError(t, err)
			require.Equal(t, before[query], harness.Queried(t.Context(), session, query), "the base table does not say all: "+query)
			session.Close()
		}
		removed := int64(0)
		for name, r := range done {
			require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM "+name+"_slots"), name)
			require.Empty(t, r.Left)
			require.Zero(t, r.Busy+r.Orphans)
			removed += r.Slots
		}
		require.Len(t, done, 5)
		require.Equal(t, slots, removed)
		require.EqualValues(t, 2, done["daily"].Keys)
		totals := harness.Stats(t, tw.Ours).Rollups
		require.Equal(t, countermysql.RollupStatistics{Runs: 1, Keys: 3 + 2 + 2 + 1 + 1, Slots: slots}, totals)
		for _, r := range harness.RollUp(t, tw.Ours) {
			require.Equal(t, countermysql.RolledUp{Table: r.Table}, r, "there was nothing left to do")
		}
	})
}

// TestRollupOfSomeTables proves that a rollup does the tables it is asked for,
// reports how far it is, and refuses names that it does not know.
func TestRollupOfSomeTables(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, manyShapes, manyCounters)
		for range 300 {
			harness.Affected(t, tw.Ours, "INSERT INTO post (id, likes) SELECT MAX(id) + 1, 0 FROM post WHERE id < 10000")
		}
		harness.Affected(t, tw.Ours, "UPDATE file SET n = n + 1 WHERE hash = 'abc'")
		for id := 1; id <= 300; id++ {
			harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = ?", id)
		}
		var last countermysql.RollupProgress
		calls := 0
		done, err := countermysql.Rollup(t.Context(), tw.Ours, &countermysql.RollupOptions{Tables: []string{"post"}, Progress: func(p countermysql.RollupProgress) {
			require.EqualValues(t, 300, p.Total)
			require.GreaterOrEqual(t, p.Slots, last.Slots)
			last = p
			calls++
		}})
		require.NoError(t, err)
		require.Len(t, done, 1)
		require.EqualValues(t, 300, done[0].Keys)
		require.Equal(t, last.Total, last.Slots)
		require.Greater(t, calls, 2)
		require.NotZero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM file_slots"))

		_, err = countermysql.Rollup(t.Context(), tw.Ours, &countermysql.RollupOptions{Tables: []string{"pst"}})
		require.ErrorContains(t, err, "there is no such table with counters; there are ")
		_, err = countermysql.Rollup(t.Context(), tw.Direct, nil)
		require.ErrorContains(t, err, "open it as \"countermysql\"")
	})
}

// TestRollupBeyondRange proves that the base row gets what its column can hold,
// that the rest stays in slots and is counted, and that it is told.
func TestRollupBeyondRange(t *testing.T) {
	const schema = `
CREATE TABLE small (id INT PRIMARY KEY, n TINYINT NOT NULL, u TINYINT UNSIGNED NOT NULL, d DECIMAL(4,2) NULL, w BIGINT NOT NULL DEFAULT 0,
  changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP);
INSERT INTO small VALUES (1, 100, 0, 0, 5, '2020-02-02'), (2, -100, 250, 99, 0, '2020-02-02'), (3, 0, 0, NULL, 0, '2020-02-02')`
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "small", Counters: []string{"n", "u", "d", "w"}}}})
		harness.ExecAll(t, tw.Direct, `INSERT INTO small_slots (id, slot, n, u, d, w) VALUES (1, 0, 100, 3, 0, 9223372036854775807), (1, 1, 100, 0, 1.25, 9223372036854775807);
INSERT INTO small_slots (id, slot, n, u, d, w) VALUES (2, 3, -100, 3, 0.5, 1), (2, 4, -100, 3, 0.75, 1), (2, 5, 0, 0, 0, -9);
INSERT INTO small_slots (id, slot, n, u, d) VALUES (3, 3, 1, 1, 5)`)
		const exactly = "SELECT b.id, b.n + SUM(s.n), b.u + SUM(s.u), b.d + SUM(s.d), CAST(b.w AS DECIMAL(40)) + SUM(s.w), b.changed FROM small b LEFT JOIN " +
			"(SELECT id, n, u, d, w FROM small_slots UNION ALL SELECT id, 0, 0, 0, 0 FROM small) s ON s.id = b.id WHERE b.id < 3 GROUP BY b.id ORDER BY b.id"
		before := harness.Queried(t.Context(), tw.Direct, exactly)
		for range 2 {
			r := harness.RollUp(t, tw.Ours)["small"]
			require.Equal(t, before, harness.Queried(t.Context(), tw.Direct, exactly))
			require.Equal(t, "id INT, n TINYINT, u UNSIGNED TINYINT, d DECIMAL, w BIGINT, [1 127 3 1.25 9223372036854775807][2 -128 255 99.99 -7][3 1 1 <nil> 0]",
				harness.Queried(t.Context(), tw.Direct, "SELECT id, n, u, d, w FROM small ORDER BY id"))
			require.Len(t, r.Left, 2)
			require.Equal(t, "id=1", r.Left[0].Key)
			require.Equal(t, "column n can't hold the counter's value; make the column larger", r.Left[0].Reason)
		}
		require.Equal(t, "id INT, n BIGINT, u BIGINT, d DECIMAL, w BIGINT, [1 173 0 0.00 9223372036854775807][1 0 0 0.00 5][2 -172 1 0.26 0]",
			harness.Queried(t.Context(), tw.Direct, "SELECT id, n, u, d, w FROM small_slots ORDER BY id, w DESC"))
		harness.Affected(t, tw.Direct, "ALTER TABLE small MODIFY n INT NOT NULL, MODIFY u INT NOT NULL, MODIFY d DECIMAL(20,2), MODIFY w DECIMAL(30) NOT NULL")
		require.NoError(t, tw.Ours.Close())
		tw.Ours, _ = harness.OpenOurs(t, tw.OursDSN, tw.Config)
	})
}

// TestRollupByEnums proves that a rollup passes all keys, also those that the
// server orders by their numbers and compares by their names.
func TestRollupByEnums(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE daily (kind ENUM('z', 'm', 'a') NOT NULL, places SET('y', 'b') NOT NULL, id INT NOT NULL, hits INT NOT NULL DEFAULT 0, PRIMARY KEY (kind, places, id))", harness.Counters("daily", "hits"))
		for _, kind := range []string{"z", "m", "a"} {
			for _, places := range []string{"y", "b", "y,b"} {
				for id := range 20 {
					harness.Affected(t, tw.Direct, "INSERT INTO daily (kind, places, id) VALUES (?, ?, ?)", kind, places, id)
					harness.Affected(t, tw.Direct, "INSERT INTO daily_slots (kind, places, id, key3_slot, hits) VALUES (?, ?, ?, 0, 1)", kind, places, id)
				}
			}
		}
		harness.RollUp(t, tw.Ours)
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM daily_slots"))
		require.EqualValues(t, 180, harness.Number(t, tw.Direct, "SELECT SUM(hits) FROM daily"))
	})
}

// TestRollupOfOrphans proves that slots whose base rows are gone are removed,
// and that those of rows that are being inserted, deleted or locked are not.
func TestRollupOfOrphans(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		for id := 10; id <= 80; id += 10 {
			harness.Affected(t, tw.Ours, "UPDATE hot SET n = n + 1 WHERE id = ?", id)
		}
		harness.Affected(t, tw.Direct, "DELETE FROM hot WHERE id IN (10, 20, 80)")
		harness.Affected(t, tw.Direct, "DELETE FROM hot WHERE id = 30")
		locked := harness.Session(t, tw.Direct)
		for _, stmt := range []string{"BEGIN", "INSERT INTO hot (id) VALUES (30)", "DELETE FROM hot WHERE id = 40", "SELECT * FROM hot WHERE id = 50 FOR UPDATE", "SELECT * FROM hot WHERE id = 60 LOCK IN SHARE MODE"} {
			harness.Affected(t, locked, stmt)
		}
		done, err := countermysql.Rollup(t.Context(), tw.Ours, &countermysql.RollupOptions{MaxLock: time.Millisecond})
		require.NoError(t, err)
		require.Equal(t, []countermysql.RolledUp{{Table: done[0].Table, Keys: 1, Slots: 1, Orphans: 3, Busy: 4}}, done)
		require.Equal(t, "id INT, [30][40][50][60]", harness.Queried(t.Context(), tw.Direct, "SELECT id FROM hot_slots ORDER BY id"))
		harness.Affected(t, locked, "ROLLBACK")
		r := harness.RollUp(t, tw.Ours)["hot"]
		require.Equal(t, countermysql.RolledUp{Table: r.Table, Keys: 3, Slots: 3, Orphans: 1}, r)
		require.Equal(t, "id INT, n INT, [40 1][50 1][60 1][70 1]", harness.Queried(t.Context(), tw.Direct, "SELECT id, n FROM hot"))
	})
}

// TestRollupOfManyOrphans proves that the slots of rows that are gone are removed together, not one
// by one, and that those of a row among them which somebody is about to insert again are left.
func TestRollupOfManyOrphans(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const keys = 1000
		tw := harness.NewTwin(t, srv, "CREATE TABLE day (id VARCHAR(20) PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0)", harness.Counters("day", "n"))
		const numbers = " WITH RECURSIVE digits (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM digits WHERE n < 9) "
		harness.Affected(t, tw.Direct, "INSERT INTO day_slots (id, slot, n)"+numbers+"SELECT CONCAT('k', a.n * 100 + b.n * 10 + c.n), d.n, 1 FROM digits a, digits b, digits c, digits d WHERE d.n < 2")
		harness.Affected(t, tw.Direct, "INSERT INTO day (id) VALUES ('k7'), ('K500')") // 500 is another spelling
		inserting := harness.Session(t, tw.Direct)
		harness.Affected(t, inserting, "BEGIN")
		harness.Affected(t, inserting, "INSERT INTO day (id) VALUES ('k999')")
		config, recorder := *tw.Config, harness.NewRecorder()
		config.Interceptor = recorder
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		var done []countermysql.RolledUp
		sent := recorder.During(func() {
			var err error
			done, err = countermysql.Rollup(t.Context(), db, &countermysql.RollupOptions{MaxLock: time.Second})
			require.NoError(t, err)
		})
		require.Equal(t, []countermysql.RolledUp{{Table: done[0].Table, Keys: 2, Slots: 4, Orphans: 2 * (keys - 3), Busy: 1}}, done)
		require.Less(t, len(sent), keys*5)
		harness.Affected(t, inserting, "ROLLBACK")
		require.EqualValues(t, 2, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM day_slots"))
		require.EqualValues(t, 4, harness.Number(t, tw.Direct, "SELECT SUM(n) FROM day"))
	})
}

// TestRollupOfOrphansBesideLockedSlots proves that a rollup which somebody keeps from the slots of a row goes on
// with those of rows that are gone.
func TestRollupOfOrphansBesideLockedSlots(t *testing.T) {
	t.Parallel()
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE day (id INT PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0);\nINSERT INTO day (id) VALUES (1)", harness.Counters("day", "n"))
		harness.Affected(t, tw.Direct, "INSERT INTO day_slots (id, slot, n) VALUES (1, 0, 1), (2, 0, 1), (3, 0, 1), (4, 0, 1)")
		holding := harness.Session(t, tw.Direct)
		harness.Affected(t, holding, "BEGIN")
		harness.Number(t, holding, "SELECT n FROM day_slots WHERE id = 1 FOR UPDATE")
		done, err := countermysql.Rollup(t.Context(), tw.Ours, &countermysql.RollupOptions{MaxLock: time.Second})
		require.NoError(t, err)
		require.Equal(t, []countermysql.RolledUp{{Table: done[0].Table, Orphans: 3, Busy: 1}}, done)
		harness.Affected(t, holding, "COMMIT")
		harness.RollUp(t, tw.Ours)
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT n FROM day"))
	})
}

// TestRollupAndNewRow proves that the slots of a row which is inserted while
// the rollup takes its key for an orphan, alone or with others, are not lost.
func TestRollupAndNewRow(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		hook := &nowait{}
		config := *tw.Config
		config.Interceptor = hook
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		for i, before := range []string{"its slots are locked", "its base row is looked for", "its slots are locked, and others", "its base row is looked for, and others"} {
			t.Run("before "+before, func(t *testing.T) {
				for id := 10; id <= 10+i/2*20; id += 10 {
					harness.Affected(t, tw.Ours, "INSERT IGNORE INTO hot (id) VALUES (?)", id)
					harness.Affected(t, tw.Ours, "UPDATE hot SET n = n + 1000 WHERE id = ?", id)
					harness.Affected(t, tw.Direct, "DELETE FROM hot WHERE id = ?", id)
				}
				done := make(chan struct{})
				insert := func() {
					defer close(done)
					harness.Affected(t, tw.Ours, "INSERT INTO hot (id) VALUES (10)")
					for range 20 {
						harness.Affected(t, tw.Ours, "UPDATE hot SET n = n + 1 WHERE id = 10")
					}
				}
				hook.left.Store(int64(i%2 + 1))
				hook.do = func() {
					go insert()
					select { // it may have to wait for the rollup
					case <-done:
					case <-time.After(200 * time.Millisecond):
					}
				}
				harness.RollUp(t, db)
				<-done
				require.EqualValues(t, 20, harness.Number(t, tw.Ours, "SELECT n FROM hot WHERE id = 10"))
			})
		}
	})
}

// nowait is an interrupter of the locks that are not waited for.
type nowait struct{ interrupter }

func (n *nowait) ConnQueryContext(ctx context.Context, c driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	if strings.HasSuffix(query, "NOWAIT") && n.left.Add(-1) == 0 {
		n.do()
	}
	rows, err := c.QueryContext(ctx, query, args)
	return ctx, rows, err
}

// TestRollupRefused proves that a row which the server refuses to change keeps
// its slots, does not keep the others from being rolled up, and is told.
func TestRollupRefused(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		for id := 10; id <= 80; id += 10 {
			harness.Affected(t, tw.Ours, "UPDATE hot SET n = n + ? WHERE id = ?", id, id)
		}
		harness.Affected(t, tw.Direct, "ALTER TABLE hot ADD CONSTRAINT few CHECK (n < 15 OR id > 20)")
		r := harness.RollUp(t, tw.Ours)["hot"]
		require.EqualValues(t, 7, r.Keys)
		require.Len(t, r.Left, 1)
		require.Equal(t, "id=20", r.Left[0].Key)
		require.EqualValues(t, 20, harness.Number(t, tw.Ours, "SELECT n FROM hot WHERE id = 20"))
	})
}

// TestRollupUnderLoad proves that under increments, exact statements, edits of
// several rows in one order, and inserts and deletes of neighbours, with two
// rollups at once, no increment is lost and no client meets a deadlock.
func TestRollupUnderLoad(t *testing.T) {
	const clients, rounds = 16, 40
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewHot(t, srv, countermysql.ReadOwnSnapshot)
		second, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		harness.ExecAll(t, tw.Direct, "CREATE TABLE log (id BIGINT PRIMARY KEY AUTO_INCREMENT, hot INT NOT NULL, FOREIGN KEY (hot) REFERENCES hot (id))")
		var c harness.Crowd
		var acknowledged, keys atomic.Int64
		ctx := t.Context()
		level := func(i int) *sql.TxOptions {
			return &sql.TxOptions{Isolation: []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}[i%2]}
		}
		edit := func(i int) (int64, error) { // rows in descending order, the rollup's is ascending
			tx, err := tw.Ours.BeginTx(ctx, level(i))
			if err != nil {
				return 0, err
			}
			defer tx.Rollback()
			for id := 80; id > 0; id -= 20 {
				if _, err := tx.ExecContext(ctx, "UPDATE hot SET title = ?, n = n + 1 WHERE id = ?", i, id); err != nil {
					return 0, err
				}
			}
			return 4, tx.Commit()
		}
		like := func(i int) (int64, error) {
			tx, err := tw.Ours.BeginTx(ctx, level(i))
			if err != nil {
				return 0, err
			}
			defer tx.Rollback()
			id := 10 + i%8*10
			if _, err := tx.ExecContext(ctx, "INSERT INTO log (hot) VALUES (?)", id); err != nil {
				return 0, err
			}
			if _, err := tx.ExecContext(ctx, "UPDATE hot SET n = n + 1 WHERE id = ?", id); err != nil {
				return 0, err
			}
			return 1, tx.Commit()
		}
		one := func(i int) (int64, error) {
			_, err := tw.Ours.ExecContext(ctx, "UPDATE hot SET n = n + 1 WHERE id = ?", 10+i%8*10)
			return 1, err
		}
		exact := func(i int) (int64, error) {
			_, err := tw.Ours.ExecContext(ctx, "UPDATE hot SET n = GREATEST(n, 0) WHERE id = ?", 10+i%8*10)
			return 0, err
		}
		neighbour := func(i int) (int64, error) {
			id := 10 + i%8*10 + 1 + i/8%9
			for _, stmt := range []string{"INSERT INTO hot (id) VALUES (?)", "UPDATE hot SET n = n + 1 WHERE id = ?", "DELETE FROM hot WHERE id = ?"} {
				if _, err := tw.Ours.ExecContext(ctx, stmt, id); err != nil && harness.ErrorNumber(err) != 1062 {
					return 0, err
				}
			}
			return 0, nil
		}
		roll := func(db *sql.DB) func(int) {
			return func(int) {
				done, err := countermysql.Rollup(ctx, db, nil)
				if !c.Check(err) {
					return
				}
				require.Empty(t, done[0].Left)
				keys.Add(done[0].Keys)
			}
		}
		works := []func(int) (int64, error){one, like, one, edit, one, like, exact, neighbour}
		c.Run(clients, func(client int) {
			for i := range rounds {
				n, err := works[client%len(works)](i + client)
				if c.Check(err) {
					acknowledged.Add(n)
				}
			}
		}, roll(tw.Ours), roll(second))
		c.NoDeadlocks(t)
		require.NotZero(t, keys.Load(), "the rollups had nothing to do")
		const sum = "SELECT SUM(n) FROM hot WHERE id % 10 = 0"
		require.Equal(t, acknowledged.Load(), harness.Number(t, tw.Ours, sum))
		harness.RollUp(t, tw.Ours)
		require.Equal(t, acknowledged.Load(), harness.Number(t, tw.Direct, sum))
	})
}

// interrupter does something before one of the statements that are sent.
type interrupter struct {
	sqlmw.NullInterceptor
	armed atomic.Bool
	left  atomic.Int64
	do    func()
}

func (i *interrupter) note() {
	if i.armed.Load() && i.left.Add(-1) == 0 {
		i.do()
	}
}

func (i *interrupter) ConnExecContext(ctx context.Context, c driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	i.note()
	return c.ExecContext(ctx, query, args)
}

func (i *interrupter) ConnQueryContext(ctx context.Context, c driver.QueryerContext, query string, args []driver.NamedValue) (context.Context, driver.Rows, error) {
	i.note()
	rows, err := c.QueryContext(ctx, query, args)
	return ctx, rows, err
}

// TestRollupInterrupted proves that no value changes wherever a rollup is
// cancelled or cut off, before each of its statements, and that the next one
// finishes the work.
func TestRollupInterrupted(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		stop := &interrupter{}
		config := *tw.Config
		config.Interceptor = stop
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		const sum = "SELECT SUM(n * id) FROM hot"
		for name, do := range map[string]func(cancel func()){
			"cancelled": func(cancel func()) { cancel() },
			"cut off": func(func()) {
				ids := harness.QueriedList(t, tw.Direct, "SELECT id FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND id <> CONNECTION_ID()")
				for _, id := range ids {
					_, _ = tw.Direct.Exec("KILL " + id) // may have ended by itself
				}
				require.Eventually(t, func() bool { // or one takes a statement yet
					return len(ids) == 0 || harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE id IN ("+strings.Join(ids, ",")+")") == 0
				}, 30*time.Second, time.Millisecond)
			},
		} {
			t.Run(name, func(t *testing.T) {
				for n := int64(1); ; n++ {
					for id := 10; id <= 80; id += 10 {
						harness.Affected(t, tw.Ours, "UPDATE hot SET n = n + ? WHERE id = ?", id, id)
					}
					harness.Affected(t, tw.Direct, "DELETE FROM hot WHERE id = 80")
					before := harness.Number(t, tw.Ours, sum)
					ctx, cancel := context.WithCancel(t.Context())
					stop.do = func() { do(cancel) }
					stop.left.Store(n)
					stop.armed.Store(true)
					_, err := countermysql.Rollup(ctx, db, nil)
					stop.armed.Store(false)
					cancel()
					require.Equal(t, before, harness.Number(t, tw.Ours, sum))
					done := harness.RollUp(t, db)["hot"]
					require.Zero(t, done.Busy)
					require.Equal(t, before, harness.Number(t, tw.Direct, sum))
					require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM hot_slots"))
					harness.Affected(t, tw.Direct, "INSERT INTO hot (id) VALUES (80)")
					if stop.left.Load() > 0 {
						require.NoError(t, err)
						require.Greater(t, n, int64(10), "the rollup was never interrupted")
						break
					}
				}
			})
		}
	})
}

// TestRollupAndServerKilled proves that a server which is killed while it rolls
// up comes back with every acknowledged increment.
func TestRollupAndServerKilled(t *testing.T) {
	t.Parallel()
	harness.ForOwnServers(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		for round := range 3 {
			var acknowledged, unknown atomic.Int64
			before := harness.Number(t, tw.Ours, "SELECT SUM(n) FROM hot")
			var c harness.Crowd
			var rolled atomic.Int64
			c.Run(8, func(client int) {
				for i := 0; ; i++ {
					if _, err := tw.Ours.ExecContext(t.Context(), "UPDATE hot SET n = n + 1 WHERE id = ?", 10+i%8*10); err != nil {
						unknown.Add(1)
						return
					}
					acknowledged.Add(1)
					if client == 0 && acknowledged.Load() > 200 && rolled.Load() > 3 {
						require.NoError(t, srv.Kill())
					}
				}
			}, func(int) {
				if _, err := countermysql.Rollup(t.Context(), tw.Ours, nil); err == nil {
					rolled.Add(1)
				}
			})
			require.NoError(t, srv.Restart(t.Context()))
			harness.Forget(tw.Plain, tw.Direct, tw.Ours)
			require.Eventually(t, func() bool { return tw.Ours.Ping() == nil && tw.Direct.Ping() == nil }, 20*time.Second, 50*time.Millisecond)
			now := harness.Number(t, tw.Ours, "SELECT SUM(n) FROM hot")
			require.GreaterOrEqual(t, now, before+acknowledged.Load(), "round %d", round)
			require.LessOrEqual(t, now, before+acknowledged.Load()+unknown.Load(), "round %d", round)
			harness.RollUp(t, tw.Ours)
			require.Equal(t, now, harness.Number(t, tw.Direct, "SELECT SUM(n) FROM hot"))
		}
	})
}

// TestRollupInTheBackground proves that counterRollup rolls up by itself, also
// when two do so, and that it ends with the sql.DB.
func TestRollupInTheBackground(t *testing.T) {
	for _, srv := range harness.Servers { // not in parallel: goroutines are counted
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
			require.NoError(t, tw.Ours.Close())
			harness.Number(t, tw.Direct, "SELECT 1")
			ignore := goleak.IgnoreCurrent()
			config := *tw.Config
			config.Rollup = time.Second
			config.Interceptor = nil
			var dbs []*sql.DB
			for range 2 {
				db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
				dbs = append(dbs, db)
			}
			left := *tw.Config // what a process has left behind, say
			left.Interceptor = nil
			db, _ := harness.OpenOurs(t, tw.OursDSN, &left)
			for i := range 40 {
				harness.Affected(t, db, "UPDATE hot SET n = n + 1 WHERE id = ?", 10+i%8*10)
			}
			require.NoError(t, db.Close())
			require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM hot_slots") == 0 }, 20*time.Second, 50*time.Millisecond)
			require.EqualValues(t, 40, harness.Number(t, tw.Direct, "SELECT SUM(n) FROM hot"))
			require.NotZero(t, harness.Stats(t, dbs[0]).Rollups.Runs+harness.Stats(t, dbs[1]).Rollups.Runs)
			for _, db := range dbs {
				require.NoError(t, db.Close())
			}
			goleak.VerifyNone(t, append(harness.OwnServers(), ignore)...)
		})
	}
}

// TestRowsThatWait proves that Stats tells the rows in slots tables that the rollup in the
// background has left, and that a look which fails does not make them none.
func TestRowsThatWait(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		harness.Affected(t, tw.Direct, "INSERT INTO hot_slots (id, slot, n) VALUES (10, 1, 1), (10, 2, 1), (10, 3, 1)")
		edit, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer edit.Rollback()
		harness.Number(t, edit, "SELECT id FROM hot WHERE id = 10 FOR UPDATE") // which rollups skip
		config := *tw.Config
		config.Rollup = time.Second
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		waiting := func() int64 { return harness.Stats(t, db).Waiting[harness.DbName(t, tw.Direct)+".hot"] }
		require.Eventually(t, func() bool { return waiting() == 3 }, 20*time.Second, 50*time.Millisecond)
		var failed atomic.Int64
		tw.Sent.Meddle(t, func(query string) error {
			if strings.Contains(query, "@@global.read_only = 0") {
				failed.Add(1)
				return &mysql.MySQLError{Number: 1105, Message: "a look that fails"}
			}
			return nil
		})
		require.Eventually(t, func() bool { return failed.Load() > 1 }, 20*time.Second, 50*time.Millisecond)
		require.EqualValues(t, 3, waiting())
		tw.Sent.Before.Store(nil)
		require.NoError(t, edit.Rollback())
		require.Eventually(t, func() bool { return waiting() == 0 }, 20*time.Second, 50*time.Millisecond)
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM hot_slots"))
	})
}

// TestRollupAlone proves that of two rollups of a table one works and the other
// waits.
func TestRollupAlone(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		for id := 10; id <= 80; id += 10 {
			harness.Affected(t, tw.Ours, "UPDATE hot SET n = n + 1 WHERE id = ?", id)
		}
		var working, most atomic.Int64
		done := make(chan error)
		for range 2 {
			go func() {
				once := false
				_, err := countermysql.Rollup(t.Context(), tw.Ours, &countermysql.RollupOptions{Progress: func(countermysql.RollupProgress) {
					if once {
						return
					}
					once = true
					most.Store(max(most.Load(), working.Add(1)))
					time.Sleep(300 * time.Millisecond)
					working.Add(-1)
				}})
				done <- err
			}()
		}
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		require.EqualValues(t, 1, most.Load())
		require.Equal(t, fmt.Sprint(8), fmt.Sprint(harness.Number(t, tw.Direct, "SELECT SUM(n) FROM hot")))
	})
}
