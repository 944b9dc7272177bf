package connections

import (
	"bytes"
	"context"
	"database/sql"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestInterceptorPanics proves that a panic of an interceptor in the midst of a statement,
// which the application recovers from, leaves no counter rolled up by half, and no
// transaction of the driver's open: the connection is closed.
func TestInterceptorPanics(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, stmt := range []string{
			"UPDATE post SET likes = GREATEST(likes, 0) + 100 WHERE id = 1", "SELECT id, likes FROM post WHERE likes > 3 FOR UPDATE", "DELETE FROM post WHERE id = 1 AND likes > 100000",
			"UPDATE post SET likes = likes + 100, title = CONCAT(title, likes) WHERE id IN (1, 2)", "SELECT likes FROM post WHERE id = 1 /*!50000 + 0 */", "DO (SELECT likes FROM post WHERE id = 1)",
		} {
			for _, inside := range []bool{false, true} {
				for at, panicked := 0, true; panicked; at++ {
					tw.Reset(t)
					harness.Affected(t, tw.Ours, "UPDATE post SET likes = likes + 3 WHERE id = 1")
					before := harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1")
					conn, err := tw.Ours.Conn(t.Context())
					require.NoError(t, err)
					harness.Number(t, conn, "SELECT likes FROM post WHERE id = 1")
					panicked = false
					run := func(on harness.Execer) {
						sent, mine := 0, goroutine()
						tw.Sent.Meddle(t, func(string) error {
							if goroutine() != mine { // the schema is looked at beside
								return nil
							}
							if sent++; sent == at+1 {
								panicked = true
								panic("made by the test")
							}
							return nil
						})
						defer func() {
							_ = recover()
							tw.Sent.Before.Store(nil)
						}()
						harness.Affected(t, on, stmt)
					}
					var tx *sql.Tx
					if inside {
						tx, err = conn.BeginTx(context.Background(), nil)
						require.NoError(t, err)
						harness.Affected(t, tx, "UPDATE post SET likes = likes + 20 WHERE id = 1")
						run(tx)
						err = tx.Commit()
						before += 20
					} else {
						run(conn)
						_, err = conn.ExecContext(t.Context(), "INSERT INTO note VALUES (7, '')")
					}
					conn.Close()
					now := harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1")
					notes := harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note")
					if inside && err != nil {
						require.Equal(t, before-20, now, "%s, %d", stmt, at)
					} else {
						require.Contains(t, []int64{before, before + 100}, now, "%s, %d", stmt, at)
					}
					if !inside {
						require.Equal(t, err == nil, notes == 1, "%s, %d: %v", stmt, at, err)
					}
					harness.RollUp(t, tw.Ours)
					require.Equal(t, now, harness.Number(t, tw.Direct, "SELECT likes FROM post WHERE id = 1"))
				}
			}
		}
	})
}

// goroutine is the number of the goroutine that asks.
func goroutine() string {
	stack := make([]byte, 64)
	return string(bytes.Fields(stack[:runtime.Stack(stack, false)])[1])
}
