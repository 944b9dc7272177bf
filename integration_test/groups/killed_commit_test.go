package groups

import (
	"context"
	"database/sql/driver"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestKilledCommit proves that a COMMIT ends, also with multiStatements, whose statements are killed at
// any moment: neither server goes on with a text of several statements that is killed between two, nor
// does it say so.
func TestKilledCommit(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, cold, cooling(harness.Counters("post", "likes")), "interpolateParams=true", "multiStatements=true")
		conn, err := tw.Ours.Conn(t.Context())
		require.NoError(t, err)
		id := harness.Number(t, conn, "SELECT CONNECTION_ID()")
		ctx, stop := context.WithCancel(t.Context())
		killed := make(chan struct{})
		go func() {
			defer close(killed)
			for ctx.Err() == nil {
				_, _ = tw.Direct.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", id))
			}
		}()
		ended := make(chan int64, 1)
		go func() {
			n := int64(0)
			for begin := time.Now(); time.Since(begin) < 3*time.Second; {
				tx, err := conn.BeginTx(ctx, nil)
				if err != nil {
					continue
				}
				if _, err = tx.Exec("INSERT INTO log (post_id) VALUES (NULL)"); err == nil {
					_, err = tx.Exec("UPDATE post SET likes = likes + 1 WHERE id IN (1, 2, 3, 4)")
				}
				if err != nil {
					_ = tx.Rollback()
				} else if tx.Commit() == nil {
					n++
				}
			}
			ended <- n
		}()
		select {
		case n := <-ended:
			stop()
			<-killed
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // a KILL may still be on its way to it
			require.LessOrEqual(t, n, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
			require.EqualValues(t, 1, harness.Number(t, tw.Ours, "SELECT COUNT(DISTINCT likes) FROM post"))
		case <-time.After(30 * time.Second):
			stop()
			require.Fail(t, "it does not end")
		}
	})
}
