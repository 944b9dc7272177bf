package schema

import (
	"context"
	"errors"
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

// hammer increments rows 1 to 8 of post from as many clients until stop is called,
// which returns how many increments succeeded. Errors of names that are gone are none.
func hammer(t *testing.T, tw *harness.Twin) (counted *atomic.Int64, stop func() int64) {
	t.Helper()
	counted = &atomic.Int64{}
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for ctx.Err() == nil {
				res, err := tw.Ours.Exec("UPDATE post SET likes = likes + 1 WHERE id = ?", i+1)
				var wrong *mysql.MySQLError
				if err == nil {
					n, _ := res.RowsAffected()
					counted.Add(n)
				} else if !errors.As(err, &wrong) || wrong.Number != 1054 && wrong.Number != 1146 {
					t.Error(err)
					return
				}
			}
		})
	}
	return counted, func() int64 {
		cancel()
		writers.Wait()
		return counted.Load()
	}
}

// TestRenameBesideWriters proves that nothing stays in the slots that was counted
// before a table, a counter or a key got a new name.
func TestRenameBesideWriters(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for ddl, read := range map[string]string{
			"RENAME TABLE post TO story":                                "SELECT SUM(likes) FROM story",
			"ALTER TABLE post RENAME TO story":                          "SELECT SUM(likes) FROM story",
			"ALTER TABLE post RENAME COLUMN likes TO hearts":            "SELECT SUM(hearts) FROM post",
			"ALTER TABLE post CHANGE likes hearts BIGINT NOT NULL":      "SELECT SUM(hearts) FROM post",
			"ALTER TABLE post CHANGE COLUMN id no INT NOT NULL":         "SELECT SUM(likes) FROM post",
			"ALTER TABLE post CHANGE likes hearts INT, RENAME AS story": "SELECT SUM(hearts) FROM story",
		} {
			for range 3 {
				tw := harness.NewTwin(t, srv, harness.Hammered, harness.Counters("post", "likes"))
				_, stop := hammer(t, tw)
				time.Sleep(20 * time.Millisecond)
				_, err := harness.Session(t, tw.Ours).ExecContext(t.Context(), ddl)
				require.NoError(t, err, ddl)
				total := stop()
				require.NotZero(t, total)
				require.Equal(t, total, harness.Number(t, tw.Direct, read), ddl)
			}
		}
	})
}

// TestRekeyBesideWriters proves that a table which gets another primary key while others
// count loses nothing, and goes on counting: its slots table gets the new key too.
func TestRekeyBesideWriters(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, ddl := range []string{
			"ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (id, no)",
			"ALTER TABLE post DROP PRIMARY KEY, ADD PRIMARY KEY (no), ADD UNIQUE (id)",
			"ALTER TABLE post DROP PRIMARY KEY, ADD COLUMN row_no INT NOT NULL AUTO_INCREMENT PRIMARY KEY",
		} {
			for range 3 {
				tw := harness.NewTwin(t, srv, harness.Hammered+";\nALTER TABLE post ADD no INT NOT NULL DEFAULT 0;\nUPDATE post SET no = 9 - id", harness.Counters("post", "likes"))
				counted, stop := hammer(t, tw)
				time.Sleep(20 * time.Millisecond)
				_, err := harness.Session(t, tw.Ours).ExecContext(t.Context(), ddl)
				require.NoError(t, err, ddl)
				before := counted.Load()
				require.Eventually(t, func() bool { return counted.Load() > before+50 }, 10*time.Second, time.Millisecond, ddl)
				require.Equal(t, stop(), harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"), ddl)
			}
		}
	})
}

// TestSwapBesideWriters proves that a table leaves its name to another only once its slots
// table is closed, however the names are exchanged, and that no count is lost then: what
// others would add to slots meanwhile was counted for one table, and read in the other.
func TestSwapBesideWriters(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, swaps := range [][]string{
			{"RENAME TABLE post TO story, other TO post", "RENAME TABLE post TO other, story TO post;"},
			{"RENAME TABLE post TO x, other TO post, x TO other", "RENAME TABLES `post` TO x, other TO post, x TO other"},
		} {
			tw := harness.NewTwin(t, srv, harness.Hammered+";\nCREATE TABLE other LIKE post", harness.Counters("post", "likes"))
			_, stop := hammer(t, tw)
			refusesOpen(t, tw, swaps...)
			for range 10 {
				for _, swap := range swaps {
					time.Sleep(10 * time.Millisecond)
					_, err := harness.Session(t, tw.Ours).ExecContext(t.Context(), swap)
					require.NoError(t, err, swap)
				}
			}
			total := stop()
			require.NotZero(t, total)
			require.Equal(t, total, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post"))
		}
	})
}

// refusesOpen requires that DDL is refused before anything is done, in a transaction too,
// and closes the slots table.
func refusesOpen(t *testing.T, tw *harness.Twin, ddl ...string) {
	t.Helper()
	conn := harness.Session(t, tw.Ours)
	harness.Affected(t, conn, "BEGIN")
	harness.Affected(t, conn, "UPDATE post SET likes = likes + 1000 WHERE id = 1")
	for _, stmt := range ddl {
		_, err := conn.ExecContext(t.Context(), stmt)
		var refused *countermysql.RefusedError
		require.ErrorAs(t, err, &refused, stmt)
		require.Contains(t, err.Error(), "countermysql drop --stop-only")
	}
	harness.Affected(t, conn, "ROLLBACK")
	_, err := countermysql.Drop(t.Context(), tw.Ours, &countermysql.DropOptions{StopOnly: true, Notice: time.Millisecond})
	require.NoError(t, err)
}
