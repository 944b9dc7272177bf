package schema

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSlotsTableMadeAnew proves that nobody counts in a slots table between the
// look whether it is empty and its end: a process that does not know of the new
// key yet would lose what it counts.
func TestSlotsTableMadeAnew(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, byInit := range []bool{false, true} {
			tw := harness.NewTwin(t, srv, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO t (id) VALUES (1)", harness.Counters("t", "n"))
			harness.ExecAll(t, tw.Direct, "ALTER TABLE t CHANGE id pid INT NOT NULL")
			var tried, counted atomic.Int64
			tw.Sent.Meddle(t, func(query string) error {
				if strings.HasPrefix(query, "DROP TABLE") {
					tried.Add(1)
					ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
					defer cancel()
					if _, err := tw.Direct.ExecContext(ctx, "INSERT INTO t_slots (id, slot, n) VALUES (1, 0, 1)"); err == nil {
						counted.Add(1)
					}
				}
				return nil
			})
			config := *tw.Config
			config.CreateSlots = !byInit
			db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
			if byInit {
				statements, err := countermysql.Init(t.Context(), db, nil)
				require.NoError(t, err)
				require.Len(t, statements, 2)
			}
			require.EqualValues(t, 1, tried.Load())
			require.Zero(t, counted.Load(), "and it is lost")
			require.EqualValues(t, 1, harness.Affected(t, db, "UPDATE t SET n = n + 1 WHERE pid = 1"))
			require.EqualValues(t, 1, harness.Number(t, tw.Direct, "SELECT n FROM t_slots WHERE pid = 1"))
			require.EqualValues(t, 1, harness.Number(t, db, "SELECT n FROM t"))
		}
	})
}
