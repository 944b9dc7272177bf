package connections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
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

// TestOtherServer proves that no count is lost where look-up connections lead to
// another server than the application's: those of before a failover lead to what
// is a replica now, which may be behind.
func TestOtherServer(t *testing.T) {
	t.Parallel()
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			before, err := testserver.Start(t.Context(), flavor)
			require.NoError(t, err)
			t.Cleanup(before.Stop)
			now, err := testserver.Start(t.Context(), flavor)
			require.NoError(t, err)
			t.Cleanup(now.Stop)

			var address atomic.Value
			address.Store(before.Addr())
			network := "failover_" + string(flavor)
			mysql.RegisterDialContext(network, func(ctx context.Context, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", address.Load().(string))
			})
			t.Cleanup(func() { mysql.DeregisterDialContext(network) })
			cfg, err := mysql.ParseDSN(before.DSN("forum", "innodb_lock_wait_timeout=5"))
			require.NoError(t, err)
			cfg.Net, cfg.Addr = network, "moves"
			for _, srv := range []*testserver.Server{before, now} {
				db := harness.Open(t, srv.DSN(""))
				harness.Affected(t, db, "CREATE DATABASE forum")
				harness.Affected(t, db, "CREATE TABLE forum.p (id INT PRIMARY KEY, n INT NOT NULL)")
				harness.Affected(t, db, "CREATE TABLE forum.p_slots (id INT NOT NULL, slot SMALLINT UNSIGNED NOT NULL, n BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id, slot)) STATS_PERSISTENT=0")
				harness.Affected(t, db, "INSERT INTO forum.p VALUES (1, 0), (2, 0)")
			}
			connector, err := countermysql.NewConnector(cfg, harness.Counters("p", "n"))
			require.NoError(t, err)
			ours := sql.OpenDB(connector)
			t.Cleanup(func() { require.NoError(t, ours.Close()) })
			one := harness.Session(t, ours)
			harness.Affected(t, one, "UPDATE p SET n = n + 1 WHERE id = 1")
			harness.Affected(t, one, "UPDATE p SET n = GREATEST(n, 0) WHERE id = 1") // opens a look-up connection
			require.EqualValues(t, 1, harness.Number(t, one, "SELECT n FROM p WHERE id = 1"))

			address.Store(now.Addr())
			two := harness.Session(t, ours)
			harness.Affected(t, two, "UPDATE p SET n = n + 10 WHERE id = 1")
			harness.Affected(t, two, "UPDATE p SET n = GREATEST(n + 5, 0) WHERE id = 1")
			require.EqualValues(t, 15, harness.Number(t, two, "SELECT n FROM p WHERE id = 1"))
			harness.Affected(t, two, "UPDATE p SET n = n + 10 WHERE id = 2")
			harness.Affected(t, two, "UPDATE p SET n = 7 WHERE id = 2")
			require.EqualValues(t, 7, harness.Number(t, two, "SELECT n FROM p WHERE id = 2"))
			require.EqualValues(t, 1, harness.Number(t, one, "SELECT n FROM p WHERE id = 1"))

			harness.Affected(t, one, "UPDATE p SET n = n + 10 WHERE id = 2") // while new ones lead elsewhere
			harness.Affected(t, one, "UPDATE p SET n = 8 WHERE id = 2")
			require.EqualValues(t, 8, harness.Number(t, one, "SELECT n FROM p WHERE id = 2"))
			harness.Affected(t, one, "BEGIN")
			require.EqualValues(t, 1, harness.Affected(t, one, "UPDATE p SET n = n + 1 WHERE id = 2"))
			require.EqualValues(t, 9, harness.Number(t, one, "SELECT n FROM p WHERE id = 2"))
			harness.Affected(t, one, "COMMIT")
			require.EqualValues(t, 9, harness.Number(t, one, "SELECT n FROM p WHERE id = 2"))
		})
	}
}

// TestNoLookups proves that statements on open connections go on where no look-up
// connection is to be had any more, as they do on plain MySQL when the server has
// as many connections as it can.
func TestNoLookups(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, begin := range []string{"begin RC", "begin RR", "BEGIN"} {
			t.Run(begin, func(t *testing.T) {
				tw := harness.NewBlog(t, srv, harness.BlogCounters())
				cfg, err := mysql.ParseDSN(tw.OursDSN)
				require.NoError(t, err)
				var full atomic.Bool
				cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
					if full.Load() {
						return nil, errors.New("too many connections")
					}
					return new(net.Dialer).DialContext(ctx, network, address)
				}
				connector, err := countermysql.NewConnector(cfg, tw.Config)
				require.NoError(t, err)
				ours := sql.OpenDB(connector)
				t.Cleanup(func() { require.NoError(t, ours.Close()) })
				one, plain := harness.Session(t, ours), harness.Session(t, tw.Plain)
				own := harness.Number(t, one, "SELECT CONNECTION_ID()")
				for _, query := range []string{"SELECT likes FROM post WHERE id = 1", "SELECT id, likes FROM post ORDER BY id"} {
					harness.Queried(t.Context(), one, query) // asks for its column types
				}
				full.Store(true)
				rows, err := tw.Direct.Query("SELECT id FROM information_schema.PROCESSLIST WHERE db = DATABASE() AND id NOT IN (CONNECTION_ID(), ?)", own)
				require.NoError(t, err)
				var lookups []int64
				for rows.Next() {
					var id int64
					require.NoError(t, rows.Scan(&id))
					lookups = append(lookups, id)
				}
				require.NoError(t, rows.Close())
				require.NotEmpty(t, lookups)
				for _, id := range lookups {
					harness.Affected(t, tw.Direct, fmt.Sprint("KILL ", id))
				}
				end := "commit"
				if begin == "BEGIN" {
					end = "COMMIT"
				}
				steps := []string{"UPDATE post SET likes = likes + 1 WHERE id = 1", begin, "INSERT INTO note VALUES (9, '')", "UPDATE post SET likes = likes + 2 WHERE id = 1",
					"UPDATE post SET likes = likes + 2 WHERE id = 77", "SELECT likes FROM post WHERE id = 1", "UPDATE post SET likes = GREATEST(likes, 3) WHERE id = 1",
					"UPDATE post SET title = 'x' WHERE id = 1", "SELECT likes FROM post WHERE id = 1", end,
					"UPDATE post SET likes = likes + 1 WHERE id = 1", "UPDATE post SET likes = GREATEST(likes + 1, 3) WHERE id = 1", "INSERT INTO post (id, slug) VALUES (50, 'y')", "DELETE FROM post WHERE id = 2", "SELECT id, likes FROM post ORDER BY id"}
				answers := func(conn *sql.Conn) (all []string) {
					c := &harness.Client{Conn: conn}
					for _, s := range steps {
						all = append(all, s+" → "+c.Answer(t, t.Context(), s))
					}
					return all
				}
				require.Equal(t, answers(plain), answers(one))
			})
		}
	})
}

// TestTogetherByServer proves that increments which wait together are sent by a
// connection to the server of each: after a failover some lead to another one still.
func TestTogetherByServer(t *testing.T) {
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			var address atomic.Value
			network := "together_" + string(flavor)
			mysql.RegisterDialContext(network, func(ctx context.Context, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", address.Load().(string))
			})
			t.Cleanup(func() { mysql.DeregisterDialContext(network) })
			var cfg *mysql.Config
			var addresses []string
			for range 2 {
				srv, err := testserver.Start(t.Context(), flavor)
				require.NoError(t, err)
				t.Cleanup(srv.Stop)
				harness.ExecAll(t, harness.Open(t, srv.DSN("")), "CREATE DATABASE forum;\nCREATE TABLE forum.p (id INT PRIMARY KEY, n INT NOT NULL);\nINSERT INTO forum.p VALUES (1, 0)")
				cfg, err = mysql.ParseDSN(srv.DSN("forum", harness.Isolation(srv)...))
				require.NoError(t, err)
				addresses = append(addresses, srv.Addr())
			}
			cfg.Net, cfg.Addr = network, "moves"
			config, sent := harness.Counters("p", "n"), harness.NewRecorder()
			config.CreateSlots, config.Interceptor = true, sent
			var clients []*sql.Conn
			var at []int // the server of each
			for _, server := range []int{0, 1, 0, 1, 1, 0} {
				address.Store(addresses[server])
				if len(clients) < 2 { // each server gets its slots table
					connector, err := countermysql.NewConnector(cfg, config)
					require.NoError(t, err)
					db := sql.OpenDB(connector)
					require.NoError(t, db.Ping())
					require.NoError(t, db.Close())
				}
				clients, at = append(clients, nil), append(at, server)
			}
			connector, err := countermysql.NewConnector(cfg, config)
			require.NoError(t, err)
			ours := sql.OpenDB(connector)
			t.Cleanup(func() { require.NoError(t, ours.Close()) })
			for i := range clients {
				address.Store(addresses[at[i]])
				clients[i] = harness.Session(t, ours)
			}

			var held sync.Once
			isHeld, release := make(chan struct{}), make(chan struct{})
			sent.Meddle(t, func(query string) error {
				if strings.HasPrefix(query, "INSERT INTO `forum`.`p_slots`") {
					held.Do(func() {
						close(isHeld)
						<-release
					})
				}
				return nil
			})
			want, errs := []int64{0, 0}, make(chan error)
			for i, client := range clients {
				n := int64(1) << i
				want[at[i]] += n
				go func() {
					_, err := client.ExecContext(context.WithoutCancel(t.Context()), "UPDATE p SET n = n + ? WHERE id = 1", n)
					errs <- err
				}()
				<-isHeld // the first; the others wait for it
			}
			time.AfterFunc(50*time.Millisecond, func() { close(release) })
			for range clients {
				require.NoError(t, <-errs)
			}
			for i, client := range clients {
				require.Equal(t, want[at[i]], harness.Number(t, client, "SELECT n FROM p WHERE id = 1"))
			}
		})
	}
}
