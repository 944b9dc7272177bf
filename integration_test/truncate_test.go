package integration_test

import (
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestTruncateBeside proves that TRUNCATE takes no increment of a row that another
// client inserts as soon as it can.
func TestTruncateBeside(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		other, _ := openOurs(t, tw.oursDSN, blogCounters())
		const like = "UPDATE page SET hits = hits + 1 WHERE day = '2026-01-01' AND name = 'home'"
		for _, steps := range []string{"TRUNCATE TABLE page", "TRUNCATE page", "BEGIN; INSERT INTO note VALUES (1, ''); TRUNCATE page"} {
			tw.reset(t)
			affected(t, other, like)
			done := make(chan error, 1)
			tw.sent.meddle(t, func(query string) error {
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
			conn := session(t, tw.ours)
			for _, step := range strings.Split(steps, "; ") {
				affected(t, conn, step)
			}
			require.NoError(t, <-done)
			require.EqualValues(t, 1, number(t, tw.ours, "SELECT SUM(hits) FROM page"))
			affected(t, conn, "INSERT INTO note VALUES (2, '')") // nothing is locked any more
		}
	})
}

// TestTruncate proves that TRUNCATE answers as plain MySQL does, whatever the table
// and the user.
func TestTruncate(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		steps := []string{"A: TRUNCATE post", "A: SELECT COUNT(*) FROM post", "A: INSERT INTO post (id, slug) VALUES (1, 'a')", "A: SELECT likes FROM post",
			"A: ALTER TABLE note ADD post INT, ADD FOREIGN KEY (post) REFERENCES post (id)", "A: TRUNCATE TABLE post", "A: SELECT COUNT(*) FROM post", "B: INSERT INTO note VALUES (1, '', 1)",
			"A: SET foreign_key_checks = 0", "A: TRUNCATE TABLE post", "B: SELECT * FROM post", "A: TRUNCATE none", "B: SELECT COUNT(*) FROM page",
			"B: LOCK TABLES page READ", "A: SET SESSION lock_wait_timeout = 1", "A: TRUNCATE page", "B: UNLOCK TABLES", "A: SELECT COUNT(*) FROM page", "A: TRUNCATE page", "A: SELECT COUNT(*) FROM page"}
		tw.play(t, steps...)

		// without LOCK TABLES
		cfg, err := mysql.ParseDSN(tw.oursDSN)
		require.NoError(t, err)
		host, _, err := net.SplitHostPort(cfg.Addr)
		require.NoError(t, err)
		user := fmt.Sprintf("truncates@'%s'", host)
		for _, stmt := range []string{"DROP USER IF EXISTS " + user, "CREATE USER " + user + " IDENTIFIED BY 'secret'", "GRANT SELECT, INSERT, UPDATE, DELETE, DROP ON " + cfg.DBName + ".* TO " + user} {
			affected(t, tw.direct, stmt)
		}
		t.Cleanup(func() { _, _ = tw.direct.Exec("DROP USER " + user) })
		cfg.User, cfg.Passwd = "truncates", "secret"
		limited, _ := openOurs(t, cfg.FormatDSN(), blogCounters())
		tw.reset(t)
		affected(t, limited, "TRUNCATE page")
		require.Equal(t, sql.ErrNoRows, limited.QueryRow("SELECT hits FROM page").Scan(new(int)))
		affected(t, limited, "INSERT INTO page VALUES ('2026-01-01', 'home', 0)")
		require.Zero(t, number(t, tw.ours, "SELECT SUM(hits) FROM page"))
	})
}
