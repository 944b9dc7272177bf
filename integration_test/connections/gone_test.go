package connections

import (
	"context"
	"database/sql"
	"net"
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

// leavable is a connection whose server may go, which it notices, or not.
type leavable struct {
	net.Conn
	gone    *atomic.Bool
	noticed bool
}

func (c leavable) Write(b []byte) (int, error) {
	switch {
	case !c.gone.Load():
		return c.Conn.Write(b)
	case c.noticed:
		return 0, net.ErrClosed
	}
	return len(b), nil // nobody answers
}

// leavableDB is a sql.DB of ours without idle connections, whose server goes when gone is set.
func leavableDB(t *testing.T, dsn string, config *countermysql.Config, noticed bool) (db *sql.DB, gone *atomic.Bool) {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	gone = new(atomic.Bool)
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return leavable{conn, gone, noticed}, err
	}
	connector, err := countermysql.NewConnector(cfg, config)
	require.NoError(t, err)
	db = sql.OpenDB(connector)
	db.SetMaxIdleConns(-1)
	return db, gone
}

// TestClosedOfGoneServer proves that closing a sql.DB without idle connections is no error when
// the server has gone, as on plain: look-up connections are none of the application's.
func TestClosedOfGoneServer(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Articles, harness.ArticleCounters)
		db, gone := leavableDB(t, tw.OursDSN, tw.Config, true)
		require.NoError(t, harness.Write(t.Context(), db, 1, 1))
		gone.Store(true)
		require.NoError(t, db.Close())
	})
}

// TestClosedWhileMute proves that a sql.DB closes although the server has stopped answering and a
// reading of the schema waits for it, also where the session that folds what has cooled is kept.
func TestClosedWhileMute(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Articles, harness.ArticleCounters)
		config := *tw.Config
		config.Rollup = time.Hour // what is cold is folded at once
		db, gone := leavableDB(t, tw.OursDSN, &config, false)
		folds := func() int64 { return harness.Stats(t, db).Rollups.Keys }
		require.Eventually(t, func() bool { // several at once, so that it is hot
			var crowd sync.WaitGroup
			for range 8 {
				crowd.Go(func() {
					for range 20 {
						if err := harness.Write(t.Context(), db, 1, 1); err != nil {
							t.Error(err)
						}
					}
				})
			}
			crowd.Wait()
			return folds() > 0
		}, 20*time.Second, time.Millisecond)
		gone.Store(true)
		reading := make(chan struct{})
		go func() {
			defer close(reading)
			_, _ = countermysql.Check(context.Background(), db)
		}()
		time.Sleep(200 * time.Millisecond)
		begun := time.Now()
		_ = db.Close()
		require.Less(t, time.Since(begun), 20*time.Second)
		<-reading
	})
}
