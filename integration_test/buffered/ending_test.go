package buffered

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestIdleLeaves proves that a process whose buffer has been idle takes its row in the table of flushes
// along when it ends.
func TestIdleLeaves(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		config := pages(1000)
		config.Tables[0].Buffered.Every = 10 * time.Millisecond
		tw := harness.NewTwin(t, srv, schema, config)
		rows := func() int64 { return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM countermysql_flushes") }
		opened(t, tw.Ours)
		require.EqualValues(t, 1, rows())
		time.Sleep(3 * time.Second) // its connection is closed by then
		require.NoError(t, tw.Ours.Close())
		require.Zero(t, rows())
	})
}

// TestCloseEndsInTime proves that sql.DB.Close returns ten seconds later at the latest, and tells what is
// lost, also if a flush is under way that the server does not answer.
func TestCloseEndsInTime(t *testing.T) {
	eachWay(t, func(t *testing.T, srv *testserver.Server, w way) {
		tw, db, m := meddled(t, srv)
		known(t, db, 1)
		w.begin(t, srv, tw)
		harness.Affected(t, db, hit, 1)
		stuck := make(chan struct{})
		var once sync.Once
		m.set(func(ctx context.Context, query string, send func(string) error) error {
			if !w.stores(query) {
				return send(query)
			}
			once.Do(func() { close(stuck) })
			<-ctx.Done()
			return ctx.Err()
		})
		flushed := make(chan error, 1)
		go func() { flushed <- countermysql.Flush(context.Background(), db) }()
		<-stuck
		began := time.Now()
		err := db.Close()
		require.Less(t, time.Since(began), 20*time.Second)
		require.ErrorContains(t, err, "1 buffered increments")
		require.ErrorContains(t, err, "10s")
		require.Error(t, <-flushed)
		require.EqualValues(t, 1, stored(t, tw, 1))
	})
}
