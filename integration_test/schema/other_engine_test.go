package schema

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestOtherEngine proves what docs/semantics.md says of a table that another client has given an engine
// without row locks and transactions, until that is noticed: what is written while slots are added to a row
// is lost, and what is added stays where that fails, as on MySQL with consistent GTIDs (1785).
func TestOtherEngine(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO post (id) VALUES (1)", harness.Counters("post", "n"))
		harness.Number(t, tw.Ours, "SELECT n FROM post") // which knows it from now on
		harness.ExecAll(t, tw.Direct, "INSERT INTO post_slots (id, slot, n) VALUES (1, 1, 5);\nALTER TABLE post ENGINE=MyISAM")
		var once atomic.Bool
		tw.Sent.Meddle(t, func(query string) error {
			if strings.HasPrefix(query, "UPDATE `") && strings.Contains(query, "CASE WHEN") && once.CompareAndSwap(false, true) {
				harness.Affected(t, tw.Direct, "UPDATE post SET n = n + 1 WHERE id = 1") // waits for no lock
			}
			return nil
		})
		_, err := tw.Ours.Exec("UPDATE post SET n = LEAST(n + 10, 100) WHERE id = 1")
		require.True(t, once.Load())
		if n := harness.Number(t, tw.Ours, "SELECT n FROM post"); harness.MariaDB(srv) {
			require.NoError(t, err)
			require.EqualValues(t, 15, n, "plain: 16")
		} else {
			require.Equal(t, 1785, harness.ErrorNumber(err))
			require.EqualValues(t, 10, n, "plain: 6")
		}
	})
}
