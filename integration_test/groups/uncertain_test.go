package groups

import (
	"context"
	"database/sql/driver"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/ngrok/sqlmw"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// lossy is a proxy that loses the server behind a statement which has arrived
// there, and answers with an error number instead.
type lossy struct {
	sqlmw.NullInterceptor
	number atomic.Int32 // 0: it loses nothing
	lost   atomic.Int32
}

func (l *lossy) ConnExecContext(ctx context.Context, c driver.ExecerContext, query string, args []driver.NamedValue) (driver.Result, error) {
	res, err := c.ExecContext(ctx, query, args)
	if n := l.number.Load(); err == nil && n != 0 && (strings.HasPrefix(query, "INSERT INTO") || strings.HasPrefix(query, "SET STATEMENT")) {
		l.lost.Add(1)
		return nil, &mysql.MySQLError{Number: uint16(n), Message: "Lost connection to server during query"}
	}
	return res, err
}

// TestUncertainErrors proves that an increment is not sent again after an error
// that leaves open whether it was committed: it would count twice.
func TestUncertainErrors(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO t (id) VALUES (1), (2)", harness.Counters("t", "n"))
		l := &lossy{}
		config := *tw.Config
		config.Interceptor = l
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		for i, lost := range []int{1053, 1105, 1158, 1161, 1180, 1927, 2006, 2013, 3100, 9001} {
			l.number.Store(int32(lost))
			_, err := db.Exec("UPDATE t SET n = n + 1 WHERE id = 1")
			require.Equal(t, lost, harness.ErrorNumber(err))
			tx, err := db.Begin()
			require.NoError(t, err)
			harness.Affected(t, tx, "UPDATE t SET n = n + 1 WHERE id = 1")
			harness.Affected(t, tx, "UPDATE t SET n = n + 1 WHERE id = 2")
			require.Equal(t, lost, harness.ErrorNumber(tx.Commit()))
			l.number.Store(0)
			require.EqualValues(t, 3*(i+1), harness.Number(t, db, "SELECT SUM(n) FROM t"))
			require.EqualValues(t, 2*(i+1), l.lost.Load())
		}
	})
}
