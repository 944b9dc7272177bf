package integration_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestSlotsTableMadeAnew proves that nobody counts in a slots table between the
// look whether it is empty and its end: a process that does not know of the new
// key yet would lose what it counts.
func TestSlotsTableMadeAnew(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, byInit := range []bool{false, true} {
			tw := newTwin(t, srv, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO t (id) VALUES (1)", counters("t", "n"))
			execAll(t, tw.direct, "ALTER TABLE t CHANGE id pid INT NOT NULL")
			var tried, counted atomic.Int64
			tw.sent.meddle(t, func(query string) error {
				if strings.HasPrefix(query, "DROP TABLE") {
					tried.Add(1)
					ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
					defer cancel()
					if _, err := tw.direct.ExecContext(ctx, "INSERT INTO t_slots (id, slot, n) VALUES (1, 0, 1)"); err == nil {
						counted.Add(1)
					}
				}
				return nil
			})
			config := *tw.config
			config.CreateSlots = !byInit
			db, _ := openOurs(t, tw.oursDSN, &config)
			if byInit {
				statements, err := countermysql.Init(t.Context(), db, nil)
				require.NoError(t, err)
				require.Len(t, statements, 2)
			}
			require.EqualValues(t, 1, tried.Load())
			require.Zero(t, counted.Load(), "and it is lost")
			require.EqualValues(t, 1, affected(t, db, "UPDATE t SET n = n + 1 WHERE pid = 1"))
			require.EqualValues(t, 1, number(t, tw.direct, "SELECT n FROM t_slots WHERE pid = 1"))
			require.EqualValues(t, 1, number(t, db, "SELECT n FROM t"))
		}
	})
}
