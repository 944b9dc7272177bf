package reads

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// exactReads need all of post 1's likes in base rows.
var exactReads = []string{
	"SELECT /*!40001 SQL_NO_CACHE */ likes FROM post WHERE id = 1",
	"SELECT most()",
	"SELECT likes FROM post_view WHERE id = 1",
	"SELECT likes FROM post_view WHERE id = 1 FOR UPDATE",
	"SELECT MAX(likes) FROM post, JSON_TABLE('[1]', '$[*]' COLUMNS (a INT PATH '$')) j WHERE title < 'c'",
	"WITH w AS (SELECT likes FROM post_view WHERE id < 3) SELECT MAX(likes) FROM w",
	"WITH post AS (SELECT * FROM post WHERE id < 3) SELECT MAX(likes) FROM post",
	"CALL show_most()",
}

// TestExactReadsOfOldSnapshots proves that what reads counters from base rows alone shows no
// number that lacks what was in slots when the transaction's snapshot was made: a rollup has
// moved it to a version of the row that the snapshot does not have.
func TestExactReadsOfOldSnapshots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		isolations := []string{"DO 0"}
		if harness.MariaDB(srv) { // which refuses no query without locks, whatever has changed since
			isolations = []string{"SET innodb_snapshot_isolation = OFF", "SET innodb_snapshot_isolation = ON"}
		}
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0, title VARCHAR(9) NULL, changed TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, CHECK (likes BETWEEN 0 AND 7));\n"+
			"INSERT INTO post (id, title) VALUES (1, 'a'), (2, 'b'), (3, 'c');\n"+
			"CREATE VIEW post_view AS SELECT * FROM post;\n"+
			"CREATE FUNCTION most() RETURNS INT READS SQL DATA RETURN (SELECT MAX(likes) FROM post);\n"+
			"CREATE PROCEDURE show_most() READS SQL DATA SELECT MAX(likes) FROM post", harness.Counters("post", "likes"))
		ctx := t.Context()
		for _, query := range exactReads {
			for _, level := range []string{"REPEATABLE READ", "READ COMMITTED"} {
				for i := range 2 * len(isolations) {
					rolled, isolation := i%2 == 1, isolations[i/2]
					harness.Affected(t, tw.Ours, "UPDATE post SET likes = 0, changed = '2026-01-01'")
					harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 7), (2, 3, 1)")
					reader := harness.Session(t, tw.Ours)
					harness.Affected(t, reader, "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
					harness.Affected(t, reader, isolation)
					harness.Affected(t, reader, "BEGIN")
					var title string
					require.NoError(t, reader.QueryRowContext(ctx, "SELECT title FROM post WHERE id = 3").Scan(&title))
					if rolled {
						_, err := countermysql.Rollup(ctx, tw.Ours, nil)
						require.NoError(t, err)
					}
					var likes int
					for range 2 {
						require.NoError(t, reader.QueryRowContext(ctx, query).Scan(&likes), "%s: %s", isolation, query)
						require.Equal(t, 7, likes, "%s: %s", level, query)
					}
					require.EqualValues(t, 8, harness.Number(t, reader, "SELECT SUM(likes) FROM post"))
					harness.Affected(t, reader, "COMMIT")
					require.NoError(t, reader.QueryRowContext(ctx, query).Scan(&likes))
					require.Equal(t, 7, likes)
					require.EqualValues(t, 3, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM post WHERE changed = '2026-01-01'"), "an edit of the driver's")
				}
			}
		}
	})
}

// TestExactReadNotRevealed proves that such a query is refused, and changes nothing, where what the snapshot
// lacks can't be shown: a row with slots was deleted since, or has its key spelled otherwise, or a trigger of
// the application's would see it change twice.
func TestExactReadNotRevealed(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, x := range []struct {
			name, before, since string
			left                int64
		}{
			{"deleted", "", "DELETE FROM post WHERE name = 'a'", 5},
			{"spelled otherwise", "", "UPDATE post SET name = 'A' WHERE name = 'a'", 12},
			{"a trigger", "CREATE TRIGGER g AFTER UPDATE ON post FOR EACH ROW INSERT INTO log VALUES (NEW.likes)", "DELETE FROM log", 12},
		} {
			t.Run(x.name, func(t *testing.T) {
				tw := harness.NewTwin(t, srv, "CREATE TABLE post (name VARCHAR(9) PRIMARY KEY, likes INT NOT NULL DEFAULT 0) CHARSET utf8mb4;\nINSERT INTO post VALUES ('a', 5), ('B', 0);\n"+
					"CREATE TABLE log (n INT);\nCREATE VIEW post_view AS SELECT * FROM post", harness.Counters("post", "likes"))
				harness.Affected(t, tw.Direct, "INSERT INTO post_slots (name, slot, likes) SELECT name, 3, IF(name = 'a', 2, 5) FROM post")
				if x.before != "" {
					harness.Affected(t, tw.Direct, x.before)
					_, err := countermysql.Check(t.Context(), tw.Ours) // knows of it
					require.NoError(t, err)
				}
				reader := behindRollup(t, tw, "SELECT SUM(likes) FROM post", 12)
				harness.Affected(t, tw.Direct, x.since)
				var likes int
				err := reader.QueryRowContext(t.Context(), "SELECT SUM(likes) FROM post_view").Scan(&likes)
				var refused *countermysql.RefusedError
				require.True(t, errors.As(err, &refused), "%d, %v", likes, err)
				harness.Affected(t, reader, "COMMIT")
				require.EqualValues(t, x.left, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM post"))
				require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM log"))
			})
		}
	})
}

// behindRollup is a session with a snapshot, by a query of this number, of what is rolled up since.
func behindRollup(t *testing.T, tw *harness.Twin, query string, number int64) *sql.Conn {
	t.Helper()
	reader := harness.Session(t, tw.Ours)
	harness.Affected(t, reader, "BEGIN")
	require.EqualValues(t, number, harness.Number(t, reader, query))
	_, err := countermysql.Rollup(t.Context(), tw.Ours, nil)
	require.NoError(t, err)
	return reader
}

// TestExactReadOfOldSnapshotWithoutKey proves that a table without a key, which has one row, is read whole
// behind a rollup, too.
func TestExactReadOfOldSnapshotWithoutKey(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE site (hits INT NOT NULL DEFAULT 0, name VARCHAR(9));\nINSERT INTO site (name) VALUES ('a');\nCREATE VIEW site_view AS SELECT * FROM site", harness.Counters("site", "hits"))
		harness.Affected(t, tw.Direct, "INSERT INTO site_slots (key0_slot, hits) VALUES (3, 7)")
		reader := behindRollup(t, tw, "SELECT SUM(hits) FROM site", 7)
		require.EqualValues(t, 7, harness.Number(t, reader, "SELECT SUM(hits) FROM site_view"))
	})
}

// TestExactReadOlderThanSlots proves that such a query is answered where the slots table is younger than the
// snapshot, which has no row of it.
func TestExactReadOlderThanSlots(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1), (2);\nCREATE TABLE note (id INT PRIMARY KEY);\nCREATE VIEW post_view AS SELECT * FROM post", harness.Counters("post", "likes"))
		require.EqualValues(t, 0, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post"))
		reader := harness.Session(t, tw.Ours)
		harness.Affected(t, reader, "BEGIN")
		require.EqualValues(t, 0, harness.Number(t, reader, "SELECT COUNT(*) FROM note"))
		harness.Affected(t, tw.Direct, "ALTER TABLE post_slots ENGINE=InnoDB")
		require.EqualValues(t, 0, harness.Number(t, reader, "SELECT SUM(likes) FROM post_view"))
	})
}

// TestExactReadHalfRevealed proves that no row keeps the number of a snapshot where the query's context ends
// between the two UPDATEs that show it: the transaction can't commit that.
func TestExactReadHalfRevealed(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		between := &behindUpdate{}
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1);\nCREATE VIEW post_view AS SELECT * FROM post", harness.Counters("post", "likes"))
		harness.Affected(t, tw.Direct, "INSERT INTO post_slots (id, slot, likes) VALUES (1, 3, 7)")
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		config := *tw.Config
		config.Interceptor = between
		connector, err := countermysql.NewConnector(cfg, &config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		defer db.Close()
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		require.EqualValues(t, 7, harness.Number(t, tx, "SELECT SUM(likes) FROM post"))
		_, err = countermysql.Rollup(t.Context(), tw.Ours, nil)
		require.NoError(t, err)

		ctx, cancel := context.WithCancel(t.Context())
		between.do.Store(&cancel)
		var likes int
		require.ErrorIs(t, tx.QueryRowContext(ctx, "SELECT SUM(likes) FROM post_view").Scan(&likes), context.Canceled)
		require.Nil(t, between.do.Load(), "it has ended")
		_ = tx.Commit() // whether it can or not
		require.EqualValues(t, 7, harness.Number(t, tw.Direct, "SELECT likes FROM post"))
	})
}

// behindUpdate does something once, when an UPDATE has been sent.
type behindUpdate struct {
	sqlmw.NullInterceptor
	do atomic.Pointer[context.CancelFunc]
}

func (b *behindUpdate) ConnExecContext(ctx context.Context, conn driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	res, err := conn.ExecContext(ctx, query, args)
	if strings.HasPrefix(query, "UPDATE") {
		if do := b.do.Swap(nil); do != nil {
			(*do)()
		}
	}
	return res, err
}
