package operations

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// kept is a connection by way of a proxy that keeps those to the server for others, as MySQL Router does:
// when the client goes, the server's session stays.
type kept struct{ net.Conn }

func (k kept) Write(b []byte) (int, error) {
	if bytes.Equal(b, []byte{1, 0, 0, 0, 1}) { // COM_QUIT
		return len(b), nil
	}
	return k.Conn.Write(b)
}

func (kept) Close() error { return nil }

// TestRollupBehindPool proves that a rollup does not wait for the session of the one before, which a proxy
// keeps.
func TestRollupBehindPool(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		var mu sync.Mutex
		var sessions []net.Conn
		network := "kept_" + string(srv.Flavor())
		mysql.RegisterDialContext(network, func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", srv.Addr())
			mu.Lock()
			defer mu.Unlock()
			sessions = append(sessions, conn)
			return kept{conn}, err
		})
		t.Cleanup(func() {
			mysql.DeregisterDialContext(network)
			for _, conn := range sessions {
				conn.Close()
			}
		})
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		cfg.Net = network
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for range 2 {
			db, _ := harness.OpenOurs(t, cfg.FormatDSN(), tw.Config)
			harness.Affected(t, tw.Direct, "INSERT INTO hot_slots (id, slot, n) VALUES (10, 1, 1)")
			done, err := countermysql.Rollup(ctx, db, nil)
			require.NoError(t, err)
			require.EqualValues(t, 1, done[0].Slots)
			require.NoError(t, db.Close())
		}
	})
}
