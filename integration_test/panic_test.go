package integration_test

import (
	"bytes"
	"context"
	"database/sql"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// TestInterceptorPanics proves that a panic of an interceptor in the midst of a statement,
// which the application recovers from, leaves no counter rolled up by half, and no
// transaction of the driver's open: the connection is closed.
func TestInterceptorPanics(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		for _, stmt := range []string{
			"UPDATE post SET likes = GREATEST(likes, 0) + 100 WHERE id = 1", "SELECT id, likes FROM post WHERE likes > 3 FOR UPDATE", "DELETE FROM post WHERE id = 1 AND likes > 100000",
			"UPDATE post SET likes = likes + 100, title = CONCAT(title, likes) WHERE id IN (1, 2)", "SELECT likes FROM post WHERE id = 1 /*!50000 + 0 */", "DO (SELECT likes FROM post WHERE id = 1)",
		} {
			for _, inside := range []bool{false, true} {
				for at, panicked := 0, true; panicked; at++ {
					tw.reset(t)
					affected(t, tw.ours, "UPDATE post SET likes = likes + 3 WHERE id = 1")
					before := number(t, tw.ours, "SELECT likes FROM post WHERE id = 1")
					conn, err := tw.ours.Conn(t.Context())
					require.NoError(t, err)
					number(t, conn, "SELECT likes FROM post WHERE id = 1")
					panicked = false
					run := func(on execer) {
						sent, mine := 0, goroutine()
						tw.sent.meddle(t, func(string) error {
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
							tw.sent.before.Store(nil)
						}()
						affected(t, on, stmt)
					}
					var tx *sql.Tx
					if inside {
						tx, err = conn.BeginTx(context.Background(), nil)
						require.NoError(t, err)
						affected(t, tx, "UPDATE post SET likes = likes + 20 WHERE id = 1")
						run(tx)
						err = tx.Commit()
						before += 20
					} else {
						run(conn)
						_, err = conn.ExecContext(t.Context(), "INSERT INTO note VALUES (7, '')")
					}
					conn.Close()
					now := number(t, tw.ours, "SELECT likes FROM post WHERE id = 1")
					notes := number(t, tw.direct, "SELECT COUNT(*) FROM note")
					if inside && err != nil {
						require.Equal(t, before-20, now, "%s, %d", stmt, at)
					} else {
						require.Contains(t, []int64{before, before + 100}, now, "%s, %d", stmt, at)
					}
					if !inside {
						require.Equal(t, err == nil, notes == 1, "%s, %d: %v", stmt, at, err)
					}
					rollUp(t, tw.ours)
					require.Equal(t, now, number(t, tw.direct, "SELECT likes FROM post WHERE id = 1"))
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
