package writes

import (
	"database/sql"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLoadData proves that LOAD DATA into a counter table gives what it gives on
// plain MySQL, also where it replaces rows that have slots, and where slots were
// left behind by a client that deleted their row.
func TestLoadData(t *testing.T) {
	mysql.RegisterReaderHandler("rows", func() io.Reader { return strings.NewReader("1\tnew a\t1000\n9\tnew i\t9000\n") })
	t.Cleanup(func() { mysql.DeregisterReaderHandler("rows") })
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, load := range []string{
			"LOAD DATA LOCAL INFILE 'Reader::rows' INTO TABLE post (id, slug, likes)",
			"LOAD DATA LOCAL INFILE 'Reader::rows' IGNORE INTO TABLE post (id, slug, likes)",
			"LOAD DATA LOCAL INFILE 'Reader::rows' REPLACE INTO TABLE post (id, slug, likes)",
		} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), "allowAllFiles=true")
			for _, stmt := range []string{
				"INSERT INTO post (id, slug) VALUES (9, 'i')",
				"UPDATE post SET likes = likes + 5 WHERE id = 9",
				"UPDATE post SET likes = likes + 5 WHERE id = 1",
			} {
				require.Equal(t, harness.Affected(t, tw.Plain, stmt), harness.Affected(t, tw.Ours, stmt), stmt)
			}
			harness.Affected(t, tw.Plain, "DELETE FROM post WHERE id = 9")
			harness.Affected(t, tw.Direct, "DELETE FROM post WHERE id = 9") // leaves its slots
			require.Equal(t, harness.Affected(t, tw.Plain, load), harness.Affected(t, tw.Ours, load), load)
			tw.Same(t, "SELECT id, slug, likes FROM post ORDER BY id")
		}
	})
}

// TestLoadDataReads proves that LOAD DATA with a subquery reads counters.
func TestLoadDataReads(t *testing.T) {
	mysql.RegisterReaderHandler("ids", func() io.Reader { return strings.NewReader("8\n9\n") })
	t.Cleanup(func() { mysql.DeregisterReaderHandler("ids") })
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, load := range []string{
			"A: LOAD DATA LOCAL INFILE 'Reader::ids' INTO TABLE note (id) SET body = (SELECT SUM(likes) FROM post)",
			"A: LOAD DATA LOCAL INFILE 'Reader::ids' INTO TABLE page (@id) SET day = '2026-02-02', name = @id, hits = (SELECT MAX(likes) FROM post)",
		} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), "allowAllFiles=true")
			tw.Play(t, load, "A: DELETE FROM note", "A: DELETE FROM page", "A: begin", "A: UPDATE post SET likes = likes + 20 WHERE id = 1", load, "A: commit",
				"Z: SELECT * FROM note ORDER BY id", "Z: SELECT * FROM page ORDER BY name", "Z: SELECT id, likes FROM post ORDER BY id")
		}
	})
}

// TestLoadDataOnce proves that a deadlock of LOAD DATA LOCAL is told, as on plain MySQL: the reader has been
// read by then, and to send the statement again would load nothing, or the rest.
func TestLoadDataOnce(t *testing.T) {
	const schema = "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0);\nCREATE TABLE note (id INT PRIMARY KEY AUTO_INCREMENT);\n"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("post", "likes"), "allowAllFiles=true")
		harness.Number(t, tw.Ours, "SELECT COUNT(likes) FROM post")
		for i, how := range []string{"", "IGNORE ", "REPLACE "} {
			for j, db := range []*sql.DB{tw.Plain, tw.Ours} {
				name := fmt.Sprint("once", srv.Flavor(), i, j)
				reader := strings.NewReader("11\t1\n12\t1\n")
				mysql.RegisterReaderHandler(name, func() io.Reader { return reader })
				t.Cleanup(func() { mysql.DeregisterReaderHandler(name) })
				other, err := tw.DirectTo(db).BeginTx(t.Context(), nil)
				require.NoError(t, err)
				defer other.Rollback()
				harness.Affected(t, other, "INSERT INTO note VALUES ()"+strings.Repeat(", ()", 99)) // not to be the victim
				harness.Affected(t, other, "INSERT INTO post (id) VALUES (12)")
				loaded := make(chan error, 1)
				go func() {
					_, err := db.ExecContext(t.Context(), "LOAD DATA LOCAL INFILE 'Reader::"+name+"' "+how+"INTO TABLE post (id, likes)")
					loaded <- err
				}()
				require.Eventually(t, func() bool { return harness.Waits(t, tw.DirectTo(db)) }, time.Minute, 5*time.Millisecond)
				_, err = other.ExecContext(t.Context(), "INSERT INTO post (id) VALUES (11)")
				require.NoError(t, err)
				require.NoError(t, other.Rollback())
				require.Equal(t, 1213, harness.ErrorNumber(<-loaded), how)
				require.Zero(t, harness.Number(t, db, "SELECT COUNT(likes) FROM post"))
			}
		}
	})
}

// TestLoadKeyless proves that rows from elsewhere into a table without a key are
// taken as on plain MySQL.
func TestLoadKeyless(t *testing.T) {
	mysql.RegisterReaderHandler("one", func() io.Reader { return strings.NewReader("5\n") })
	t.Cleanup(func() { mysql.DeregisterReaderHandler("one") })
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, fill := range []string{
			"A: LOAD DATA LOCAL INFILE 'Reader::one' INTO TABLE site (hits)",
			"A: LOAD DATA LOCAL INFILE 'Reader::one' REPLACE INTO TABLE site (hits)",
			"A: INSERT INTO site SELECT 5",
			"A: INSERT INTO site SELECT id FROM number",
		} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE site (hits INT NOT NULL DEFAULT 0);\nCREATE TABLE number (id INT PRIMARY KEY);\nINSERT INTO number VALUES (5);\n", harness.Counters("site", "hits"), "allowAllFiles=true")
			tw.Play(t, fill, "A: UPDATE site SET hits = hits + 1", "A: SELECT hits FROM site", "A: DELETE FROM site", fill, "A: UPDATE site SET hits = hits + 1", "A: SELECT hits FROM site")
		}
	})
}

// TestExplain proves that EXPLAIN and SHOW answer for the statement as it is
// written, and change nothing.
func TestExplain(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, query := range []string{"EXPLAIN UPDATE post SET likes = likes + 1 WHERE id = 1", "SHOW COLUMNS FROM post", "DESCRIBE post likes"} {
			tw.Same(t, query)
		}
		tw.Same(t, "SELECT id, likes FROM post ORDER BY id")
	})
}
