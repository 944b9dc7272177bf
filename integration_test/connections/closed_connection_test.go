package connections

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"time"

	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestClosedConnection proves that on a connection that a context has closed, at work
// inside a transaction, no increment seems to succeed: nobody would send it.
func TestClosedConnection(t *testing.T) {
	const like = "UPDATE post SET likes = likes + 100 WHERE id = 1"
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, c := range []struct {
			before []string
			closes string
		}{
			{nil, "UPDATE post SET likes = likes * 2 WHERE id = 2 AND SLEEP(1) = 0"},
			{[]string{"BEGIN", like}, "SELECT SLEEP(1) FROM author WHERE id = 1"},
			{[]string{"SET autocommit = 0", like}, "INSERT INTO note SELECT id, SLEEP(1) FROM author WHERE id = 1"},
		} {
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				conn := harness.Session(t, db)
				harness.Number(t, conn, "SELECT likes FROM post WHERE id = 1") // the schema is known, and only the server keeps us waiting
				for _, stmt := range c.before {
					harness.Affected(t, conn, stmt)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				_, err := conn.ExecContext(ctx, c.closes)
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded)
				_, err = conn.ExecContext(t.Context(), like)
				require.Error(t, err, c.closes)
			}
			require.EqualValues(t, 10, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
		}
	})
}

// TestCommitOnClosedConnection proves what COMMIT tells of a connection that a context
// has closed: why.
func TestCommitOnClosedConnection(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, params := range []string{"multiStatements=false", "multiStatements=true"} {
			tw := harness.NewBlog(t, srv, harness.BlogCounters(), params)
			for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
				tx, err := db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				harness.Affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id = 1")
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				_, err = tx.ExecContext(ctx, "INSERT INTO note SELECT id, SLEEP(1) FROM author WHERE id = 1")
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, tx.Commit(), context.DeadlineExceeded)
			}
			require.EqualValues(t, 10, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
		}
	})
}

// lateBegin sends BEGIN when the context has ended that it is sent under.
type lateBegin struct{ sqlmw.NullInterceptor }

func (lateBegin) ConnBeginTx(ctx context.Context, c driver.ConnBeginTx, opts driver.TxOptions) (context.Context, driver.Tx, error) {
	<-ctx.Done()
	tx, err := c.BeginTx(ctx, opts)
	return ctx, tx, err
}

// TestCommitBehindBeginThatFailed proves that a transaction whose BEGIN could not be sent,
// because the context of its first statement has ended, can't be committed.
func TestCommitBehindBeginThatFailed(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		config := harness.BlogCounters()
		config.Interceptor = lateBegin{}
		db, _ := harness.OpenOurs(t, tw.OursDSN, config)
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err = tx.ExecContext(ctx, "INSERT INTO note VALUES (1, '')")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, tx.Commit(), context.DeadlineExceeded)
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM note"))
	})
}

// TestClosedMeanwhile proves that a statement which fails while its sql.DB is closed
// gives the server's error.
func TestClosedMeanwhile(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE post (id INT PRIMARY KEY, likes INT NOT NULL DEFAULT 0)", harness.Counters("post", "likes"))
		conn := harness.Session(t, tw.Ours)
		const wrong = "UPDATE post SET likes = likes + 1 WHERE id = 1 AND none = 2"
		tw.Sent.Meddle(t, func(query string) error {
			if query == wrong {
				return tw.Ours.Close()
			}
			return nil
		})
		_, err := conn.ExecContext(t.Context(), wrong)
		require.Equal(t, 1054, harness.ErrorNumber(err), "%v", err)
	})
}
