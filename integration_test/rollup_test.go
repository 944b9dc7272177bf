package integration_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// rollUp rolls everything up.
func rollUp(t *testing.T, db *sql.DB) map[string]countermysql.RolledUp {
	t.Helper()
	done, err := countermysql.Rollup(t.Context(), db, nil)
	require.NoError(t, err)
	byTable := map[string]countermysql.RolledUp{}
	for _, r := range done {
		_, name, _ := strings.Cut(r.Table, ".")
		byTable[name] = r
	}
	return byTable
}

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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, manyShapes, manyCounters, "interpolateParams=true", "time_zone=%27-03%3A30%27")
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
				require.NotZero(t, affected(t, tw.ours, stmt), stmt)
			}
		}
		before := map[string]string{}
		slots := int64(0)
		for _, query := range manyQueries {
			before[query] = queried(t.Context(), tw.ours, query)
		}
		for _, table := range manyCounters.Tables {
			slots += number(t, tw.direct, "SELECT COUNT(*) FROM "+table.Table+"_slots")
		}
		require.Greater(t, slots, int64(4))
		done := rollUp(t, tw.ours)
		for _, query := range manyQueries {
			require.Equal(t, before[query], queried(t.Context(), tw.ours, query), query)
			session, err := sql.Open("mysql", tw.oursDSN)
			require.NoError(t, err)
			require.Equal(t, before[query], queried(t.Context(), session, query), "the base table does not say all: "+query)
			session.Close()
		}
		removed := int64(0)
		for name, r := range done {
			require.Zero(t, number(t, tw.direct, "SELECT COUNT(*) FROM "+name+"_slots"), name)
			require.Empty(t, r.Left)
			require.Zero(t, r.Busy+r.Orphans)
			removed += r.Slots
		}
		require.Len(t, done, 5)
		require.Equal(t, slots, removed)
		require.EqualValues(t, 2, done["daily"].Keys)
		totals := stats(t, tw.ours).Rollups
		require.Equal(t, countermysql.RollupStatistics{Runs: 1, Keys: 3 + 2 + 2 + 1 + 1, Slots: slots}, totals)
		for _, r := range rollUp(t, tw.ours) {
			require.Equal(t, countermysql.RolledUp{Table: r.Table}, r, "there was nothing left to do")
		}
	})
}

// TestRollupOfSomeTables proves that a rollup does the tables it is asked for,
// reports how far it is, and refuses names that it does not know.
func TestRollupOfSomeTables(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, manyShapes, manyCounters)
		for range 300 {
			affected(t, tw.ours, "INSERT INTO post (id, likes) SELECT MAX(id) + 1, 0 FROM post WHERE id < 10000")
		}
		affected(t, tw.ours, "UPDATE file SET n = n + 1 WHERE hash = 'abc'")
		for id := 1; id <= 300; id++ {
			affected(t, tw.ours, "UPDATE post SET likes = likes + 1 WHERE id = ?", id)
		}
		var last countermysql.RollupProgress
		calls := 0
		done, err := countermysql.Rollup(t.Context(), tw.ours, &countermysql.RollupOptions{Tables: []string{"post"}, Progress: func(p countermysql.RollupProgress) {
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
		require.NotZero(t, number(t, tw.direct, "SELECT COUNT(*) FROM file_slots"))

		_, err = countermysql.Rollup(t.Context(), tw.ours, &countermysql.RollupOptions{Tables: []string{"pst"}})
		require.ErrorContains(t, err, "there is no such table with counters; there are ")
		_, err = countermysql.Rollup(t.Context(), tw.direct, nil)
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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, schema, &countermysql.Config{Tables: []countermysql.TableConfig{{Table: "small", Counters: []string{"n", "u", "d", "w"}}}})
		execAll(t, tw.direct, `INSERT INTO small_slots (id, slot, n, u, d, w) VALUES (1, 0, 100, 3, 0, 9223372036854775807), (1, 1, 100, 0, 1.25, 9223372036854775807);
INSERT INTO small_slots (id, slot, n, u, d, w) VALUES (2, 3, -100, 3, 0.5, 1), (2, 4, -100, 3, 0.75, 1), (2, 5, 0, 0, 0, -9);
INSERT INTO small_slots (id, slot, n, u, d) VALUES (3, 3, 1, 1, 5)`)
		const exactly = "SELECT b.id, b.n + SUM(s.n), b.u + SUM(s.u), b.d + SUM(s.d), CAST(b.w AS DECIMAL(40)) + SUM(s.w), b.changed FROM small b LEFT JOIN " +
			"(SELECT id, n, u, d, w FROM small_slots UNION ALL SELECT id, 0, 0, 0, 0 FROM small) s ON s.id = b.id WHERE b.id < 3 GROUP BY b.id ORDER BY b.id"
		before := queried(t.Context(), tw.direct, exactly)
		for range 2 {
			r := rollUp(t, tw.ours)["small"]
			require.Equal(t, before, queried(t.Context(), tw.direct, exactly))
			require.Equal(t, "id INT, n TINYINT, u UNSIGNED TINYINT, d DECIMAL, w BIGINT, [1 127 3 1.25 9223372036854775807][2 -128 255 99.99 -7][3 1 1 <nil> 0]",
				queried(t.Context(), tw.direct, "SELECT id, n, u, d, w FROM small ORDER BY id"))
			require.Len(t, r.Left, 2)
			require.Equal(t, "id=1", r.Left[0].Key)
			require.Equal(t, "column n can't hold the counter's value; make the column larger", r.Left[0].Reason)
		}
		require.Equal(t, "id INT, n BIGINT, u BIGINT, d DECIMAL, w BIGINT, [1 173 0 0.00 9223372036854775807][1 0 0 0.00 5][2 -172 1 0.26 0]",
			queried(t.Context(), tw.direct, "SELECT id, n, u, d, w FROM small_slots ORDER BY id, w DESC"))
		affected(t, tw.direct, "ALTER TABLE small MODIFY n INT NOT NULL, MODIFY u INT NOT NULL, MODIFY d DECIMAL(20,2), MODIFY w DECIMAL(30) NOT NULL")
		require.NoError(t, tw.ours.Close())
		tw.ours, _ = openOurs(t, tw.oursDSN, tw.config)
	})
}

// TestRollupByEnums proves that a rollup passes all keys, also those that the
// server orders by their numbers and compares by their names.
func TestRollupByEnums(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, "CREATE TABLE daily (kind ENUM('z', 'm', 'a') NOT NULL, places SET('y', 'b') NOT NULL, id INT NOT NULL, hits INT NOT NULL DEFAULT 0, PRIMARY KEY (kind, places, id))", counters("daily", "hits"))
		for _, kind := range []string{"z", "m", "a"} {
			for _, places := range []string{"y", "b", "y,b"} {
				for id := range 20 {
					affected(t, tw.direct, "INSERT INTO daily (kind, places, id) VALUES (?, ?, ?)", kind, places, id)
					affected(t, tw.direct, "INSERT INTO daily_slots (kind, places, id, key3_slot, hits) VALUES (?, ?, ?, 0, 1)", kind, places, id)
				}
			}
		}
		rollUp(t, tw.ours)
		require.Zero(t, number(t, tw.direct, "SELECT COUNT(*) FROM daily_slots"))
		require.EqualValues(t, 180, number(t, tw.direct, "SELECT SUM(hits) FROM daily"))
	})
}

// TestRollupOfOrphans proves that slots whose base rows are gone are removed,
// and that those of rows that are being inserted, deleted or locked are not.
func TestRollupOfOrphans(t *testing.T) {
	t.Parallel()
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, hot, counters("hot", "n"))
		for id := 10; id <= 80; id += 10 {
			affected(t, tw.ours, "UPDATE hot SET n = n + 1 WHERE id = ?", id)
		}
		affected(t, tw.direct, "DELETE FROM hot WHERE id IN (10, 20, 80)")
		affected(t, tw.direct, "DELETE FROM hot WHERE id = 30")
		locked := session(t, tw.direct)
		for _, stmt := range []string{"BEGIN", "INSERT INTO hot (id) VALUES (30)", "DELETE FROM hot WHERE id = 40", "SELECT * FROM hot WHERE id = 50 FOR UPDATE", "SELECT * FROM hot WHERE id = 60 LOCK IN SHARE MODE"} {
			affected(t, locked, stmt)
		}
		done, err := countermysql.Rollup(t.Context(), tw.ours, &countermysql.RollupOptions{MaxLock: time.Millisecond})
		require.NoError(t, err)
		require.Equal(t, []countermysql.RolledUp{{Table: done[0].Table, Keys: 1, Slots: 1, Orphans: 3, Busy: 4}}, done)
		require.Equal(t, "id INT, [30][40][50][60]", queried(t.Context(), tw.direct, "SELECT id FROM hot_slots ORDER BY id"))
		affected(t, locked, "ROLLBACK")
		r := rollUp(t, tw.ours)["hot"]
		require.Equal(t, countermysql.RolledUp{Table: r.Table, Keys: 3, Slots: 3, Orphans: 1}, r)
		require.Equal(t, "id INT, n INT, [40 1][50 1][60 1][70 1]", queried(t.Context(), tw.direct, "SELECT id, n FROM hot"))
	})
}

// TestRollupAndNewRow proves that the slots of a row which is inserted while
// the rollup takes its key for an orphan are not lost.
func TestRollupAndNewRow(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, hot, counters("hot", "n"))
		hook := &nowait{}
		config := *tw.config
		config.Interceptor = hook
		db, _ := openOurs(t, tw.oursDSN, &config)
		for i, before := range []string{"its slots are locked", "its base row is looked for"} {
			t.Run("before "+before, func(t *testing.T) {
				affected(t, tw.ours, "UPDATE hot SET n = n + 1000 WHERE id = 10")
				affected(t, tw.direct, "DELETE FROM hot WHERE id = 10")
				done := make(chan struct{})
				insert := func() {
					defer close(done)
					affected(t, tw.ours, "INSERT INTO hot (id) VALUES (10)")
					for range 20 {
						affected(t, tw.ours, "UPDATE hot SET n = n + 1 WHERE id = 10")
					}
				}
				hook.left.Store(int64(i + 1))
				hook.do = func() {
					go insert()
					select { // it may have to wait for the rollup
					case <-done:
					case <-time.After(200 * time.Millisecond):
					}
				}
				rollUp(t, db)
				<-done
				require.EqualValues(t, 20, number(t, tw.ours, "SELECT n FROM hot WHERE id = 10"))
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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, hot, counters("hot", "n"))
		for id := 10; id <= 80; id += 10 {
			affected(t, tw.ours, "UPDATE hot SET n = n + ? WHERE id = ?", id, id)
		}
		affected(t, tw.direct, "ALTER TABLE hot ADD CONSTRAINT few CHECK (n < 15 OR id > 20)")
		r := rollUp(t, tw.ours)["hot"]
		require.EqualValues(t, 7, r.Keys)
		require.Len(t, r.Left, 1)
		require.Equal(t, "id=20", r.Left[0].Key)
		require.EqualValues(t, 20, number(t, tw.ours, "SELECT n FROM hot WHERE id = 20"))
	})
}

// TestRollupUnderLoad proves that under increments, exact statements, edits of
// several rows in one order, and inserts and deletes of neighbours, with two
// rollups at once, no increment is lost and no client meets a deadlock.
func TestRollupUnderLoad(t *testing.T) {
	const clients, rounds = 16, 40
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newHot(t, srv, countermysql.ReadOwnSnapshot)
		second, _ := openOurs(t, tw.oursDSN, tw.config)
		execAll(t, tw.direct, "CREATE TABLE log (id BIGINT PRIMARY KEY AUTO_INCREMENT, hot INT NOT NULL, FOREIGN KEY (hot) REFERENCES hot (id))")
		var c crowd
		var acknowledged, keys atomic.Int64
		ctx := t.Context()
		level := func(i int) *sql.TxOptions {
			return &sql.TxOptions{Isolation: []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead}[i%2]}
		}
		edit := func(i int) (int64, error) { // rows in descending order, the rollup's is ascending
			tx, err := tw.ours.BeginTx(ctx, level(i))
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
			tx, err := tw.ours.BeginTx(ctx, level(i))
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
			_, err := tw.ours.ExecContext(ctx, "UPDATE hot SET n = n + 1 WHERE id = ?", 10+i%8*10)
			return 1, err
		}
		exact := func(i int) (int64, error) {
			_, err := tw.ours.ExecContext(ctx, "UPDATE hot SET n = GREATEST(n, 0) WHERE id = ?", 10+i%8*10)
			return 0, err
		}
		neighbour := func(i int) (int64, error) {
			id := 10 + i%8*10 + 1 + i/8%9
			for _, stmt := range []string{"INSERT INTO hot (id) VALUES (?)", "UPDATE hot SET n = n + 1 WHERE id = ?", "DELETE FROM hot WHERE id = ?"} {
				if _, err := tw.ours.ExecContext(ctx, stmt, id); err != nil && errorNumber(err) != 1062 {
					return 0, err
				}
			}
			return 0, nil
		}
		roll := func(db *sql.DB) func(int) {
			return func(int) {
				done, err := countermysql.Rollup(ctx, db, nil)
				if !c.check(err) {
					return
				}
				require.Empty(t, done[0].Left)
				keys.Add(done[0].Keys)
			}
		}
		works := []func(int) (int64, error){one, like, one, edit, one, like, exact, neighbour}
		c.run(clients, func(client int) {
			for i := range rounds {
				n, err := works[client%len(works)](i + client)
				if c.check(err) {
					acknowledged.Add(n)
				}
			}
		}, roll(tw.ours), roll(second))
		c.noDeadlocks(t)
		require.NotZero(t, keys.Load(), "the rollups had nothing to do")
		const sum = "SELECT SUM(n) FROM hot WHERE id % 10 = 0"
		require.Equal(t, acknowledged.Load(), number(t, tw.ours, sum))
		rollUp(t, tw.ours)
		require.Equal(t, acknowledged.Load(), number(t, tw.direct, sum))
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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, hot, counters("hot", "n"))
		stop := &interrupter{}
		config := *tw.config
		config.Interceptor = stop
		db, _ := openOurs(t, tw.oursDSN, &config)
		const sum = "SELECT SUM(n * id) FROM hot"
		for name, do := range map[string]func(cancel func()){
			"cancelled": func(cancel func()) { cancel() },
			"cut off": func(func()) {
				ids := queriedList(t, tw.direct, "SELECT id FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND id <> CONNECTION_ID()")
				for _, id := range ids {
					_, _ = tw.direct.Exec("KILL " + id) // may have ended by itself
				}
				require.Eventually(t, func() bool { // or one takes a statement yet
					return len(ids) == 0 || number(t, tw.direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE id IN ("+strings.Join(ids, ",")+")") == 0
				}, 30*time.Second, time.Millisecond)
			},
		} {
			t.Run(name, func(t *testing.T) {
				for n := int64(1); ; n++ {
					for id := 10; id <= 80; id += 10 {
						affected(t, tw.ours, "UPDATE hot SET n = n + ? WHERE id = ?", id, id)
					}
					affected(t, tw.direct, "DELETE FROM hot WHERE id = 80")
					before := number(t, tw.ours, sum)
					ctx, cancel := context.WithCancel(t.Context())
					stop.do = func() { do(cancel) }
					stop.left.Store(n)
					stop.armed.Store(true)
					_, err := countermysql.Rollup(ctx, db, nil)
					stop.armed.Store(false)
					cancel()
					require.Equal(t, before, number(t, tw.ours, sum))
					done := rollUp(t, db)["hot"]
					require.Zero(t, done.Busy)
					require.Equal(t, before, number(t, tw.direct, sum))
					require.Zero(t, number(t, tw.direct, "SELECT COUNT(*) FROM hot_slots"))
					affected(t, tw.direct, "INSERT INTO hot (id) VALUES (80)")
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

func queriedList(t *testing.T, db *sql.DB, query string) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		list = append(list, s)
	}
	require.NoError(t, rows.Err())
	return list
}

// TestRollupAndServerKilled proves that a server which is killed while it rolls
// up comes back with every acknowledged increment.
func TestRollupAndServerKilled(t *testing.T) {
	t.Parallel()
	forOwnServers(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, hot, counters("hot", "n"))
		for round := range 3 {
			var acknowledged, unknown atomic.Int64
			before := number(t, tw.ours, "SELECT SUM(n) FROM hot")
			var c crowd
			var rolled atomic.Int64
			c.run(8, func(client int) {
				for i := 0; ; i++ {
					if _, err := tw.ours.ExecContext(t.Context(), "UPDATE hot SET n = n + 1 WHERE id = ?", 10+i%8*10); err != nil {
						unknown.Add(1)
						return
					}
					acknowledged.Add(1)
					if client == 0 && acknowledged.Load() > 200 && rolled.Load() > 3 {
						require.NoError(t, srv.Kill())
					}
				}
			}, func(int) {
				if _, err := countermysql.Rollup(t.Context(), tw.ours, nil); err == nil {
					rolled.Add(1)
				}
			})
			require.NoError(t, srv.Restart(t.Context()))
			require.Eventually(t, func() bool { return tw.ours.Ping() == nil && tw.direct.Ping() == nil }, 20*time.Second, 50*time.Millisecond)
			now := number(t, tw.ours, "SELECT SUM(n) FROM hot")
			require.GreaterOrEqual(t, now, before+acknowledged.Load(), "round %d", round)
			require.LessOrEqual(t, now, before+acknowledged.Load()+unknown.Load(), "round %d", round)
			rollUp(t, tw.ours)
			require.Equal(t, now, number(t, tw.direct, "SELECT SUM(n) FROM hot"))
		}
	})
}

// TestRollupInTheBackground proves that counterRollup rolls up by itself, also
// when two do so, and that it ends with the sql.DB.
func TestRollupInTheBackground(t *testing.T) {
	for _, srv := range servers { // not in parallel: goroutines are counted
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			tw := newTwin(t, srv, hot, counters("hot", "n"))
			require.NoError(t, tw.ours.Close())
			number(t, tw.direct, "SELECT 1")
			ignore := goleak.IgnoreCurrent()
			config := *tw.config
			config.Rollup = time.Second
			config.Interceptor = nil
			var dbs []*sql.DB
			for range 2 {
				db, _ := openOurs(t, tw.oursDSN, &config)
				dbs = append(dbs, db)
			}
			left := *tw.config // what a process has left behind, say
			left.Interceptor = nil
			db, _ := openOurs(t, tw.oursDSN, &left)
			for i := range 40 {
				affected(t, db, "UPDATE hot SET n = n + 1 WHERE id = ?", 10+i%8*10)
			}
			require.NoError(t, db.Close())
			require.Eventually(t, func() bool { return number(t, tw.direct, "SELECT COUNT(*) FROM hot_slots") == 0 }, 20*time.Second, 50*time.Millisecond)
			require.EqualValues(t, 40, number(t, tw.direct, "SELECT SUM(n) FROM hot"))
			require.NotZero(t, stats(t, dbs[0]).Rollups.Runs+stats(t, dbs[1]).Rollups.Runs)
			for _, db := range dbs {
				require.NoError(t, db.Close())
			}
			goleak.VerifyNone(t, append(ownServers(), ignore)...)
		})
	}
}

// TestRollupAlone proves that of two rollups of a table one works and the other
// waits.
func TestRollupAlone(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, hot, counters("hot", "n"))
		for id := 10; id <= 80; id += 10 {
			affected(t, tw.ours, "UPDATE hot SET n = n + 1 WHERE id = ?", id)
		}
		var working, most atomic.Int64
		done := make(chan error)
		for range 2 {
			go func() {
				once := false
				_, err := countermysql.Rollup(t.Context(), tw.ours, &countermysql.RollupOptions{Progress: func(countermysql.RollupProgress) {
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
		require.Equal(t, fmt.Sprint(8), fmt.Sprint(number(t, tw.direct, "SELECT SUM(n) FROM hot")))
	})
}
