package connections

import (
	"database/sql"
	"database/sql/driver"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
)

// opener wraps a driver as many wrappers do: they know Open alone.
type opener struct{ driver.Driver }

func init() { sql.Register("opener", opener{&countermysql.Driver{}}) }

// TestOpenedByWrapper proves that connections that a wrapper makes by Driver.Open
// share what is known, and that nothing of it is left when they have ended: look-up
// connections and rollups in the background went on for ever, those of each connection.
func TestOpenedByWrapper(t *testing.T) {
	for _, srv := range harness.Servers { // one after the other: nobody else may start goroutines
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			tw := harness.NewBlog(t, srv, harness.BlogCounters())
			tw.Plain.Close()
			tw.Ours.Close()
			const connections, clients = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE()", 6
			before := harness.Number(t, tw.Direct, connections)
			ignore := goleak.IgnoreCurrent()

			db, err := sql.Open("opener", tw.OursDSN+"&counters=post.likes&counterRollup=1s")
			require.NoError(t, err)
			for round := range 2 { // the second after all connections of the first have ended
				var conns []*sql.Conn
				for range clients {
					conn, err := db.Conn(t.Context())
					require.NoError(t, err)
					require.EqualValues(t, 1, harness.Affected(t, conn, harness.LikeOne))
					conns = append(conns, conn)
				}
				require.Less(t, harness.Number(t, tw.Direct, connections)-before, int64(2*clients), "each connection has look-up connections of its own")
				for _, conn := range conns {
					require.ErrorIs(t, conn.Raw(func(any) error { return driver.ErrBadConn }), driver.ErrBadConn)
					_ = conn.Close()
				}
				require.EqualValues(t, 10+(round+1)*clients, harness.Number(t, db, "SELECT likes FROM post WHERE id = 1"))
				db.SetMaxIdleConns(-1)
				goleak.VerifyNone(t, append(harness.OwnServers(), ignore, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))...)
				require.Eventually(t, func() bool { return harness.Number(t, tw.Direct, connections) <= before }, 5*time.Second, 20*time.Millisecond)
				db.SetMaxIdleConns(clients)
			}
			require.NoError(t, db.Close())
			goleak.VerifyNone(t, append(harness.OwnServers(), ignore)...)

			db, err = sql.Open("opener", tw.OursDSN) // without counters
			require.NoError(t, err)
			require.EqualValues(t, 3, harness.Number(t, db, "SELECT COUNT(*) FROM post"))
			require.NoError(t, db.Close())
			db, err = sql.Open("opener", tw.OursDSN+"&counters=likes")
			require.NoError(t, err)
			var mistake *countermysql.ConfigError
			require.ErrorAs(t, db.Ping(), &mistake)
			require.NoError(t, db.Close())
			goleak.VerifyNone(t, append(harness.OwnServers(), ignore)...)
		})
	}
}
