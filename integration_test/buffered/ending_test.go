package buffered

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
