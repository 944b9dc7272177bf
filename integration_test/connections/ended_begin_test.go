package connections

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestContextEndsBehindBegin proves that a context which ends while a transaction begins is what the first statement
// in it tells of, as with plain: the driver sends BEGIN with that one.
func TestContextEndsBehindBegin(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		ended := 0
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end) || ended == 0; {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(rand.N(2*time.Millisecond), cancel)
			for ctx.Err() == nil {
				tx, err := tw.Ours.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
				if err != nil {
					continue
				}
				if err := tx.QueryRowContext(ctx, "SELECT likes FROM post WHERE id = 1 FOR UPDATE").Scan(new(int)); err != nil {
					require.NotErrorIs(t, err, driver.ErrBadConn)
					ended++
				}
				_ = tx.Rollback()
			}
			cancel()
		}
	})
}
