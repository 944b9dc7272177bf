package schema

import (
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestTruncateBeside proves that TRUNCATE takes no increment of a row that another
// client inserts as soon as it can.
func TestTruncateBeside(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		other, _ := harness.OpenOurs(t, tw.OursDSN, harness.BlogCounters())
		const like = "UPDATE page SET hits = hits + 1 WHERE day = '2026-01-01' AND name = 'home'"
		for _, steps := range []string{"TRUNCATE TABLE page", "TRUNCATE page", "BEGIN; INSERT INTO note VALUES (1, ''); TRUNCATE page"} {
			tw.Reset(t)
			harness.Affected(t, other, like)
			done := make(chan error, 1)
			tw.Sent.Meddle(t, func(query string) error {
				if strings.HasPrefix(query, "TRUNCATE TABLE `") { // of the slots
					go func() {
						_, err := other.Exec("INSERT INTO page VALUES ('2026-01-01', 'home', 0)")
						if err == nil {
							_, err = other.Exec(like)
						}
						done <- err
					}()
					time.Sleep(200 * time.Millisecond)
				}
				return nil
			})
			conn := harness.Session(t, tw.Ours)
			for _, step := range strings.Split(steps, "; ") {
				harness.Affected(t, conn, step)
			}
			require.NoError(t, <-done)
			require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT SUM(hits) FROM page"))
			harness.Affected(t, conn, "INSERT INTO note VALUES (2, '')") // nothing is locked any more
		}
	})
}

// TestTruncate proves that TRUNCATE answers as plain MySQL does, whatever the table
// and the user.
func TestTruncate(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		steps := []string{"A: TRUNCATE post", "A: SELECT COUNT(*) FROM post", "A: INSERT INTO post (id, slug) VALUES (1, 'a')", "A: SELECT likes FROM post",
			"A: ALTER TABLE note ADD post INT, ADD FOREIGN KEY (post) REFERENCES post (id)", "A: TRUNCATE TABLE post", "A: SELECT COUNT(*) FROM post", "B: INSERT INTO note VALUES (1, '', 1)",
			"A: SET foreign_key_checks = 0", "A: TRUNCATE TABLE post", "B: SELECT * FROM post", "A: TRUNCATE none", "B: SELECT COUNT(*) FROM page",
			"B: BEGIN", "B: SELECT COUNT(*) FROM page", "A: SET SESSION lock_wait_timeout = 1", "A: TRUNCATE page", "B: COMMIT", "A: SELECT COUNT(*) FROM page", "A: TRUNCATE page", "A: SELECT COUNT(*) FROM page"}
		tw.Play(t, steps...)

		// without LOCK TABLES
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		host, _, err := net.SplitHostPort(cfg.Addr)
		require.NoError(t, err)
		user := fmt.Sprintf("truncates@'%s'", host)
		for _, stmt := range []string{"DROP USER IF EXISTS " + user, "CREATE USER " + user + " IDENTIFIED BY 'secret'", "GRANT SELECT, INSERT, UPDATE, DELETE, DROP ON " + cfg.DBName + ".* TO " + user} {
			harness.Affected(t, tw.Direct, stmt)
		}
		t.Cleanup(func() { _, _ = tw.Direct.Exec("DROP USER " + user) })
		cfg.User, cfg.Passwd = "truncates", "secret"
		limited, _ := harness.OpenOurs(t, cfg.FormatDSN(), harness.BlogCounters())
		tw.Reset(t)
		harness.Affected(t, limited, "TRUNCATE page")
		require.Equal(t, sql.ErrNoRows, limited.QueryRow("SELECT hits FROM page").Scan(new(int)))
		harness.Affected(t, limited, "INSERT INTO page VALUES ('2026-01-01', 'home', 0)")
		require.Zero(t, harness.Number(t, tw.Ours, "SELECT SUM(hits) FROM page"))
	})
}
