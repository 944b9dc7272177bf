package schema

import (
	"context"
	"database/sql/driver"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLearningTakesLong proves that who waits for the schema that another connection
// is reading does so no longer than its context says.
func TestLearningTakesLong(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		slow := harness.NewRecorder()
		config := *tw.Config
		config.Interceptor = slow
		connector, err := countermysql.NewConnector(cfg, &config)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, connector.Close()) })
		reads, goOn := make(chan bool, 99), make(chan bool)
		slow.Meddle(t, func(string) error {
			reads <- true
			<-goOn
			return nil
		})
		first := make(chan error)
		var conn driver.Conn
		go func() {
			var err error
			conn, err = connector.Connect(context.WithoutCancel(t.Context()))
			first <- err
		}()
		<-reads
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		second := make(chan error, 1)
		go func() {
			_, err := connector.Connect(ctx)
			second <- err
		}()
		select {
		case err = <-second:
		case <-time.After(10 * time.Second):
		}
		close(goOn)
		require.NoError(t, <-first)
		require.NoError(t, conn.Close())
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// TestHiddenColumns proves that a table some of whose columns the user may not see
// fails its own statements, and no others.
func TestHiddenColumns(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		name, user := harness.DbName(t, tw.Ours), fmt.Sprintf("itg_columns_%d", os.Getpid())
		host := "'" + user + "'@'127.0.0.1'"
		harness.Affected(t, tw.Direct, "CREATE USER "+host+" IDENTIFIED BY 'secret'")
		defer harness.Affected(t, tw.Direct, "DROP USER "+host)
		for _, grant := range []string{"SELECT (id, likes), UPDATE (likes) ON " + name + ".post", "SELECT, INSERT ON " + name + ".note", "SELECT, INSERT, UPDATE, DELETE ON " + name + ".post_slots"} {
			harness.Affected(t, tw.Direct, "GRANT "+grant+" TO "+host)
		}
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		cfg.User, cfg.Passwd = user, "secret"
		db, _ := harness.OpenOurs(t, cfg.FormatDSN(), tw.Config)
		require.EqualValues(t, 1, harness.Affected(t, db, "INSERT INTO note VALUES (1, '')"))
		_, err = db.Exec(harness.LikeOne)
		var unfit *countermysql.UnfitError
		require.ErrorAs(t, err, &unfit)
		require.ErrorContains(t, err, "grant SELECT on the whole table")
		harness.Affected(t, tw.Direct, "GRANT SELECT, UPDATE ON "+name+".post TO "+host)
		db, _ = harness.OpenOurs(t, cfg.FormatDSN(), tw.Config)
		require.EqualValues(t, 1, harness.Affected(t, db, harness.LikeOne))
	})
}

// TestDroppedMeanwhile proves that a table that goes while the schema is read is
// none, and fails no statement of others.
func TestDroppedMeanwhile(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		dropped := false
		tw.Sent.Meddle(t, func(query string) error {
			if !dropped && strings.Contains(query, "SHOW CREATE TABLE") && strings.Contains(query, "`page`") {
				dropped = true
				harness.Affected(t, tw.Direct, "DROP TABLE page")
			}
			return nil
		})
		db, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		require.True(t, dropped)
		require.EqualValues(t, 1, harness.Affected(t, db, harness.LikeOne))
		_, err := db.Exec("UPDATE page SET hits = hits + 1 WHERE name = 'home'")
		require.Equal(t, 1146, harness.ErrorNumber(err))
	})
}

// TestSlotsTableRefused proves that a slots table that the server refuses to make fails
// its own table's statements, with the reason, and no others, and is made later on. A
// counter that a slots table in use gets no column for is an ordinary column until then.
func TestSlotsTableRefused(t *testing.T) {
	const schema = "CREATE TABLE long_key (k VARCHAR(768) CHARACTER SET utf8mb4 PRIMARY KEY, n INT NOT NULL DEFAULT 0);\n" +
		"CREATE TABLE page (id INT PRIMARY KEY, hits INT NOT NULL DEFAULT 0);\nINSERT INTO page (id) VALUES (1)"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := harness.Counters("page", "hits")
		config.Tables = append(config.Tables, countermysql.TableConfig{Table: "long_key", Counters: []string{"n"}})
		tw := harness.NewTwin(t, srv, schema, config)
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE page SET hits = hits + 1 WHERE id = 1"))
		_, err := tw.Ours.Exec("UPDATE long_key SET n = n + 1 WHERE k = 'a'")
		var slots *countermysql.SlotsTableError
		require.ErrorAs(t, err, &slots)
		require.Equal(t, 1071, harness.ErrorNumber(err))
		require.ErrorContains(t, err, "CREATE TABLE IF NOT EXISTS")
		harness.Affected(t, tw.Ours, "ALTER TABLE long_key MODIFY k VARCHAR(700) CHARACTER SET utf8mb4")
		harness.Affected(t, tw.Ours, "INSERT INTO long_key VALUES ('a', 1)")
		require.EqualValues(t, 1, harness.Affected(t, tw.Ours, "UPDATE long_key SET n = n + 1 WHERE k = 'a'"))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT n FROM long_key_slots"))

		reader, err := tw.Direct.Begin() // keeps the slots table in use
		require.NoError(t, err)
		defer reader.Rollback()
		harness.Number(t, reader, "SELECT COUNT(*) FROM page_slots")
		harness.Affected(t, tw.Direct, "ALTER TABLE page ADD COLUMN likes INT NOT NULL DEFAULT 0")
		config = harness.Counters("page", "hits", "likes")
		config.Tables = append(config.Tables, countermysql.TableConfig{Table: "long_key", Counters: []string{"n"}})
		config.CreateSlots = true
		next, _ := harness.OpenOurs(t, tw.OursDSN, config)
		require.EqualValues(t, 1, harness.Affected(t, next, "UPDATE long_key SET n = n + 1 WHERE k = 'a'"))
		require.EqualValues(t, 1, harness.Affected(t, next, "UPDATE page SET likes = likes + 1 WHERE id = 1"))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT likes FROM page WHERE id = 1"))
		require.NoError(t, reader.Rollback())
		harness.Affected(t, next, "ALTER TABLE page COMMENT = 'x'") // has the schema read again
		require.EqualValues(t, 1, harness.Affected(t, next, "UPDATE page SET likes = likes + 1 WHERE id = 1"))
		require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT SUM(likes) FROM page_slots"))
		require.EqualValues(t, 2, harness.Number(t, next, "SELECT likes FROM page WHERE id = 1"))
	})
}
