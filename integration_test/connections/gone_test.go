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

// mute is a connection whose server may stop answering, which nobody notices.
type mute struct {
	net.Conn
	mute *atomic.Bool
}

func (c mute) Write(b []byte) (int, error) {
	if c.mute.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// TestClosedWhileMute proves that a sql.DB closes although the server has stopped answering and a
// reading of the schema waits for it, also where the session that folds what has cooled is kept.
func TestClosedWhileMute(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Articles, harness.ArticleCounters)
		cfg, err := mysql.ParseDSN(tw.OursDSN)
		require.NoError(t, err)
		var silent atomic.Bool
		cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return mute{conn, &silent}, err
		}
		config := *tw.Config
		config.Rollup = time.Hour // what is cold is folded at once
		connector, err := countermysql.NewConnector(cfg, &config)
		require.NoError(t, err)
		db := sql.OpenDB(connector)
		db.SetMaxIdleConns(-1)
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
		silent.Store(true)
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
