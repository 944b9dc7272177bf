package schema

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const shelves = `CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);
CREATE TABLE page (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);
CREATE TABLE archive (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);
CREATE VIEW look AS SELECT id FROM archive;
INSERT INTO post (id) VALUES (1), (2);
INSERT INTO page (id) VALUES (1), (2);
INSERT INTO archive (id) VALUES (1), (2)`

// shelved opens a twin whose tables post and page count in slots only, and another process beside.
func shelved(t *testing.T, srv *testserver.Server, params ...string) (tw *harness.Twin, count func(table string, n int)) {
	t.Helper()
	config := &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: "post", Counters: []string{"likes"}}, {Table: "page", Counters: []string{"likes"}}}}
	tw = harness.NewTwin(t, srv, shelves, config, params...)
	other, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
	return tw, func(table string, n int) {
		for range n {
			require.EqualValues(t, 1, harness.Affected(t, other, "UPDATE "+table+" SET likes = likes + 1 WHERE id = 1"))
		}
	}
}

// TestRenamedWithCounts proves that what is counted between the rollup before a RENAME and the RENAME
// goes with the rows to the table's last name, whatever else the statement renames.
func TestRenamedWithCounts(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, ddl := range []string{
			"RENAME TABLE post TO story, page TO leaf",
			"RENAME TABLE archive TO old, post TO story",
			"RENAME TABLE look TO looks, post TO story",
			"RENAME TABLE post TO story, archive TO old",
			"RENAME TABLE post TO x, x TO story",
			"RENAME TABLE post /*!40000 TO story */",
			"ALTER TABLE post COMMENT 'RENAME TO x', RENAME TO story",
		} {
			tw, count := shelved(t, srv)
			count("post", 3)
			count("page", 3)
			g := harness.NewGateOn(t, tw.Sent, func(query string) bool { return query == ddl })
			answer := harness.Later(t, tw.Ours, ddl)
			<-g.Reached
			count("post", 4)
			count("page", 4)
			g.Open()
			require.Equal(t, "affected 0", harness.Soon(t, answer), ddl)
			for table, likes := range map[string]int64{"story": 7, "leaf": 7, "old": 0} {
				if strings.Contains(ddl, " "+table) {
					require.EqualValues(t, likes, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM "+table), "%s: %s", ddl, table)
				}
			}
		}
	})
}

// TestRenamedLate proves that it goes there also if the context ends before the server has renamed the
// table, and if somebody has locked the row by then.
func TestRenamedLate(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, ddl := range []string{"RENAME TABLE post TO story", "ALTER TABLE post RENAME story"} {
			for _, locked := range []bool{false, true} {
				tw, count := shelved(t, srv, "innodb_lock_wait_timeout=1")
				count("post", 3)
				holder := harness.Session(t, tw.Direct)
				g := harness.NewGateOn(t, tw.Sent, func(query string) bool { return query == ddl })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				told := make(chan error, 1)
				go func() {
					_, err := tw.Ours.ExecContext(ctx, ddl)
					told <- err
				}()
				<-g.Reached
				count("post", 4)
				harness.Affected(t, holder, "BEGIN")
				if !locked {
					harness.Number(t, holder, "SELECT COUNT(*) FROM post")
				}
				var held atomic.Bool
				tw.Sent.Meddle(t, func(query string) error {
					if locked && strings.HasPrefix(query, "SELECT 1 FROM") && held.CompareAndSwap(false, true) { // whether it is there
						harness.Number(t, holder, "SELECT likes FROM story WHERE id = 1 FOR UPDATE")
					}
					return nil
				})
				g.Open()
				if locked {
					require.NoError(t, <-told)
				} else {
					require.Eventually(t, func() bool { return tw.Waits(t) }, 10*time.Second, 10*time.Millisecond)
					cancel()
					require.ErrorIs(t, <-told, context.Canceled)
				}
				harness.Affected(t, holder, "COMMIT")
				require.Eventually(t, func() bool {
					return strings.HasSuffix(harness.Queried(t.Context(), tw.Direct, "SELECT CAST(SUM(likes) AS SIGNED) FROM story"), "[7]")
				}, 20*time.Second, 50*time.Millisecond, ddl)
			}
		}
	})
}

// TestRenamedLeft proves that the log says where what was counted beside a RENAME is, if the process ends
// before it can be added.
func TestRenamedLeft(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		const ddl = "RENAME TABLE post TO story"
		tw, count := shelved(t, srv, "innodb_lock_wait_timeout=1")
		var log bytes.Buffer
		config := *tw.Config
		config.Logger, config.Interceptor = slog.New(slog.NewTextHandler(&log, nil)), tw.Sent
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		count("post", 3)
		holder := harness.Session(t, tw.Direct)
		harness.Affected(t, holder, "BEGIN")
		var held atomic.Bool
		tw.Sent.Meddle(t, func(query string) error {
			switch {
			case query == ddl:
				count("post", 4)
			case strings.HasPrefix(query, "SELECT 1 FROM") && held.CompareAndSwap(false, true):
				harness.Number(t, holder, "SELECT likes FROM story WHERE id = 1 FOR UPDATE")
			}
			return nil
		})
		harness.Affected(t, db, ddl)
		require.NoError(t, db.Close())
		require.Contains(t, log.String(), "before what was counted beside a RENAME is added")
		harness.Affected(t, holder, "COMMIT")
		require.EqualValues(t, 3, harness.Number(t, tw.Direct, "SELECT likes FROM story WHERE id = 1"))
		require.EqualValues(t, 4, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post_slots"))
	})
}

// TestPartitionTakenOut proves that a partition is not made a table while others may count its rows: they
// would do so in slots of the table that it was in.
func TestPartitionTakenOut(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		if srv.Flavor() != testserver.MariaDB { // which alone has the statement
			return
		}
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0) PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (10), PARTITION high VALUES LESS THAN (20))", harness.Counters("post", "likes"))
		_, err := tw.Ours.Exec("ALTER TABLE post CONVERT PARTITION low TO TABLE part")
		var refused *countermysql.RefusedError
		require.ErrorAs(t, err, &refused)
	})
}
