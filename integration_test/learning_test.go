package integration_test

import (
	"context"
	"database/sql/driver"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestLearningTakesLong proves that who waits for the schema that another connection
// is reading does so no longer than its context says.
func TestLearningTakesLong(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		cfg, err := mysql.ParseDSN(tw.oursDSN)
		require.NoError(t, err)
		slow := newRecorder()
		config := *tw.config
		config.Interceptor = slow
		connector, err := countermysql.NewConnector(cfg, &config)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, connector.Close()) })
		reads, goOn := make(chan bool, 99), make(chan bool)
		slow.meddle(t, func(string) error {
			reads <- true
			<-goOn
			return nil
		})
		first := make(chan error)
		var conn driver.Conn
		go func() {
			var err error
			conn, err = connector.Connect(context.WithoutCancel(t.Context()))
			first <- err
		}()
		<-reads
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		second := make(chan error, 1)
		go func() {
			_, err := connector.Connect(ctx)
			second <- err
		}()
		select {
		case err = <-second:
		case <-time.After(10 * time.Second):
		}
		close(goOn)
		require.NoError(t, <-first)
		require.NoError(t, conn.Close())
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
