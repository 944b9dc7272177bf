package operations

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestIdleCost proves what docs/operations.md says a process costs that does nothing: one
// statement each interval of rollups, and no more than its look-up connections.
func TestIdleCost(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Shop, harness.Counters("item", "stock", "sold"))
		config := *tw.Config
		config.Rollup = time.Second
		recorder := harness.NewRecorder()
		config.Interceptor = recorder
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		_, err := db.Exec("UPDATE item SET sold = sold + 1 WHERE id = 1")
		require.NoError(t, err)
		_, err = countermysql.Rollup(t.Context(), db, nil)
		require.NoError(t, err)
		db.SetMaxIdleConns(0)
		pause(t.Context(), 2*time.Second)
		const seconds = 6
		sent := recorder.During(func() { pause(t.Context(), seconds*time.Second) })
		texts := []string{}
		for _, s := range sent {
			texts = append(texts, s.Text)
		}
		require.LessOrEqual(t, len(texts), seconds+1, "%v", texts)
		for _, text := range texts {
			require.Contains(t, text, "FROM (SELECT 1 AS counted FROM", "%v", texts)
		}
		var connections int
		require.NoError(t, tw.Plain.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ?", harness.DbName(t, db)).Scan(&connections))
		require.LessOrEqual(t, connections, 9, "look-up connections, and the one of this test")
	})
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
