package connections

import (
	"database/sql"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestReplica proves that a replica which is read through the driver shows every
// count in every moment, as a transaction arrives as one, that rollups arrive too,
// and that a replica which is promoted goes on.
func TestReplica(t *testing.T) {
	t.Parallel()
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			source, replica := startReplication(t, flavor)
			tw := harness.NewTwin(t, source, harness.Articles, harness.ArticleCounters)
			tw.Sent.Off.Store(true)
			var name string
			require.NoError(t, tw.Direct.QueryRow("SELECT DATABASE()").Scan(&name))
			config := *tw.Config
			config.CreateSlots, config.Interceptor = false, nil
			require.NoError(t, harness.Write(t.Context(), tw.Ours, 1, 1))
			behind := harness.Open(t, replica.DSN(""))
			const tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'blog_slots' AND TABLE_SCHEMA = ?"
			require.Eventually(t, func() bool { return harness.Number(t, behind, tables, name) == 1 }, 30*time.Second, 20*time.Millisecond)
			there, _ := harness.OpenOurs(t, replica.DSN(name), &config)

			stop := make(chan struct{})
			var others sync.WaitGroup
			others.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					if harness.Write(t.Context(), tw.Ours, 1+i%5, i) != nil {
						return
					}
				}
			})
			others.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(5 * time.Millisecond):
						_, _ = countermysql.Rollup(t.Context(), tw.Ours, nil) // its result is in the tables
					}
				}
			})
			const differences = "SELECT COUNT(*) FROM blog WHERE posts <> (SELECT COUNT(*) FROM article WHERE blog = blog.id)"
			for range 100 {
				require.Zero(t, harness.Number(t, there, differences))
			}
			close(stop)
			others.Wait()
			want := harness.Queried(t.Context(), tw.Ours, "SELECT * FROM blog ORDER BY id")
			require.Eventually(t, func() bool { return harness.Queried(t.Context(), there, "SELECT * FROM blog ORDER BY id") == want }, 30*time.Second, 20*time.Millisecond)

			require.NoError(t, source.Kill())
			harness.Forget(tw.Plain, tw.Direct, tw.Ours)
			for _, stmt := range stopReplica(flavor) {
				harness.Affected(t, behind, stmt)
			}
			require.NoError(t, harness.Write(t.Context(), there, 1, 1))
			harness.RollUp(t, there)
			base := harness.Open(t, replica.DSN(name))
			require.Zero(t, harness.Number(t, base, differences))
			require.NoError(t, source.Restart(t.Context())) // for the end of the test
		})
	}
}

func stopReplica(flavor testserver.Flavor) []string {
	if flavor == testserver.MariaDB {
		return []string{"STOP SLAVE"}
	}
	return []string{"STOP REPLICA"}
}

// startReplication starts a server and a replica of it.
func startReplication(t *testing.T, flavor testserver.Flavor) (source, replica *testserver.Server) {
	t.Helper()
	servers := make([]*testserver.Server, 2)
	for i := range servers {
		srv, err := testserver.Start(t.Context(), flavor, testserver.WithArgs(fmt.Sprintf("--server-id=%d", i+1), "--log-bin=log", "--binlog-format=ROW"))
		require.NoError(t, err)
		t.Cleanup(srv.Stop)
		servers[i] = srv
	}
	host, port, err := net.SplitHostPort(servers[0].Addr())
	require.NoError(t, err)
	master := harness.Open(t, servers[0].DSN(""))
	harness.Affected(t, master, "CREATE USER copy@'"+host+"' IDENTIFIED BY 'copy'")
	harness.Affected(t, master, "GRANT REPLICATION SLAVE ON *.* TO copy@'"+host+"'")
	status, connect := "SHOW MASTER STATUS", "CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s, MASTER_USER='copy', MASTER_PASSWORD='copy', MASTER_LOG_FILE='%s', MASTER_LOG_POS=%s"
	start := "START SLAVE"
	if flavor == testserver.MySQL {
		status, start = "SHOW BINARY LOG STATUS", "START REPLICA"
		connect = "CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%s, SOURCE_USER='copy', SOURCE_PASSWORD='copy', SOURCE_LOG_FILE='%s', SOURCE_LOG_POS=%s, GET_SOURCE_PUBLIC_KEY=1"
	}
	rows, err := master.Query(status)
	require.NoError(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	require.NoError(t, err)
	require.True(t, rows.Next())
	cells := make([]sql.NullString, len(names))
	dest := make([]any, len(names))
	for i := range cells {
		dest[i] = &cells[i]
	}
	require.NoError(t, rows.Scan(dest...))
	db := harness.Open(t, servers[1].DSN(""))
	harness.Affected(t, db, fmt.Sprintf(connect, host, port, cells[0].String, cells[1].String))
	harness.Affected(t, db, start)
	harness.Forget(master)
	return servers[0], servers[1]
}
