package connections

import (
	"context"
	"database/sql"
	"net"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// leavable is a connection whose server may go, which it notices.
type leavable struct {
	net.Conn
	gone *atomic.Bool
}

func (c leavable) Write(b []byte) (int, error) {
	if c.gone.Load() {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// TestClosedOfGoneServer proves that closing a sql.DB without idle connections is no error when
// the server has gone, as on plain: look-up connections are none of the application's.
func TestClosedOfGoneServer(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Articles, harness.ArticleCounters)
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		var gone atomic.Bool
		cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return leavable{conn, &gone}, err
		}
		connector, err := countermysql.NewConnector(cfg, tw.Config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		db.SetMaxIdleConns(-1)
		require.NoError(t, harness.Write(t.Context(), db, 1, 1))
		gone.Store(true)
		require.NoError(t, db.Close())
	})
}
