package operations

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestDeniedFold proves that a user who may write slots and not delete them is told so, and of which table, by rollup, drop and
// the log of what goes on in the background, with the server's own error.
func TestDeniedFold(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, "CREATE TABLE p (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0);\nINSERT INTO p (id) VALUES (1), (2), (3)", harness.Counters("p", "n"))
		harness.Affected(t, tw.Ours, "UPDATE p SET n = n + 5 WHERE id = 1")
		harness.Affected(t, tw.Ours, "UPDATE p SET n = n + 5 WHERE id = 2")
		name := harness.DbName(t, tw.Ours)
		_, dsn := harness.NewUser(t, tw, "folder", "SELECT, INSERT, UPDATE, DELETE ON "+name+".p", "SELECT, INSERT, UPDATE, ALTER ON "+name+".p_slots")
		own := *tw.Config
		own.CreateSlots, own.Interceptor = false, nil
		db, _ := harness.OpenOurs(t, dsn, &own)
		denied := func(err error) {
			t.Helper()
			var refused *mysql.MySQLError
			require.ErrorAs(t, err, &refused)
			require.EqualValues(t, 1142, refused.Number)
			require.ErrorContains(t, err, name+".p")
		}
		_, err := countermysql.Rollup(t.Context(), db, nil)
		denied(err)
		_, err = countermysql.Drop(t.Context(), db, &countermysql.DropOptions{StopOnly: true, Notice: time.Millisecond})
		denied(err)
		_, err = countermysql.Init(t.Context(), tw.Ours, nil)
		require.NoError(t, err)

		var log locked
		own.Rollup, own.Logger = time.Minute, slog.New(slog.NewTextHandler(&log, nil))
		busy, _ := harness.OpenOurs(t, dsn, &own)
		lock, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer lock.Rollback()
		harness.Number(t, lock, "SELECT n FROM p WHERE id = 3 LOCK IN SHARE MODE")
		harness.Affected(t, busy, "UPDATE p SET n = n + 1 WHERE id = 3")
		require.Positive(t, harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM p_slots WHERE id = 3"))
		require.NoError(t, lock.Rollback())
		require.Eventually(t, func() bool { return log.has("DELETE command denied") && log.has(name+".p") }, 10*time.Second, 20*time.Millisecond)
		require.EqualValues(t, 10, harness.Number(t, tw.Ours, "SELECT n FROM p WHERE id = 1")+harness.Number(t, tw.Ours, "SELECT n FROM p WHERE id = 2"))
		require.Zero(t, harness.Number(t, tw.Direct, "SELECT SUM(n) FROM p"), "half of a fold is committed")
	})
}

// locked is a log that several goroutines write.
type locked struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *locked) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.all.Bytes(), []byte(text))
}
