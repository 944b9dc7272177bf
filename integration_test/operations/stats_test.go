package operations

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestStats proves that every kind of statement is counted, once, and that
// rare events are logged once per cause and without values.
func TestStats(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		var log bytes.Buffer
		config := *tw.Config
		config.Logger = slog.New(slog.NewTextHandler(&log, nil))
		db, _ := harness.OpenOurs(t, tw.OursDSN, &config)
		require.Zero(t, harness.Stats(t, db).Increments)

		harness.Affected(t, db, "UPDATE hot SET n = n + 1 WHERE id = 10")
		harness.Number(t, db, "SELECT n FROM hot WHERE id = 10")
		harness.Affected(t, db, "UPDATE hot SET title = 'x' WHERE id = 10")
		harness.Affected(t, db, "UPDATE hot SET n = n * 2 WHERE id = 10")
		for _, secret := range []string{"'secret'", "'other'"} {
			harness.Queried(t.Context(), db, "SELECT n, "+secret+" FROM hot, JSON_TABLE('[1]', '$[*]' COLUMNS (a INT PATH '$')) AS j WHERE id = 10")
		}
		_, err := db.Exec("UPDATE hot SET id = 20 WHERE id = 10")
		require.Equal(t, 1062, harness.ErrorNumber(err))
		tx, err := db.Begin()
		require.NoError(t, err)
		harness.Affected(t, tx, "UPDATE hot SET n = n + 1 WHERE id = 10")
		harness.Affected(t, tx, "UPDATE hot SET n = n + 1 WHERE id = 20")
		harness.Affected(t, tx, "UPDATE hot SET title = 'y' WHERE id = 30")
		require.EqualValues(t, 2, harness.Stats(t, db).Pending)
		require.NoError(t, tx.Commit())
		tx, err = db.Begin()
		require.NoError(t, err)
		harness.Affected(t, tx, "UPDATE hot SET n = n + 1 WHERE id = 10")
		require.EqualValues(t, 1, harness.Stats(t, db).Pending)
		require.NoError(t, tx.Rollback())

		s := harness.Stats(t, db)
		require.Zero(t, s.Pending)
		require.EqualValues(t, 4, s.Increments)
		require.EqualValues(t, 1, s.Sums)
		require.EqualValues(t, 2, s.Verbatim)
		require.EqualValues(t, 1, s.Flushes)
		require.EqualValues(t, 1, s.Groups.Sum)
		require.Equal(t, map[uint16]int64{1062: 1}, s.Errors)
		exact := int64(0)
		for reason, n := range s.Exact {
			require.NotEmpty(t, reason)
			exact += n
		}
		require.EqualValues(t, 4, exact, "%v", s.Exact)
		require.Len(t, s.Fallbacks, 1)
		require.Equal(t, "SELECT n, ? FROM hot, JSON_TABLE(?, ? COLUMNS (a INT PATH ?)) AS j WHERE id = ?", s.Fallbacks[0].Digest)
		require.Equal(t, 1, strings.Count(log.String(), "runs the exact way"), log.String())
		require.NotContains(t, log.String(), "secret")
	})
}

// TestPendingAfterDeadlock proves that increments whose batch is sent again are
// pending once, and then no more.
func TestPendingAfterDeadlock(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		tx, err := tw.Ours.Begin()
		require.NoError(t, err)
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 1")
		n := 0
		tw.Sent.Meddle(t, func(q string) error {
			if n++; n == 1 && strings.HasPrefix(q, "INSERT") {
				return &mysql.MySQLError{Number: 1213}
			}
			return nil
		})
		require.NoError(t, tx.Commit())
		require.Zero(t, harness.Stats(t, tw.Ours).Pending)
		require.EqualValues(t, 11, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestLockedRowIsNoError proves that an increment that finds its row locked, and
// waits for it, does not count as an error of the server.
func TestLockedRowIsNoError(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Hot, harness.Counters("hot", "n"))
		tx, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer tx.Rollback()
		harness.Number(t, tx, "SELECT n FROM hot WHERE id = 10 FOR UPDATE")
		answer := harness.Later(t, harness.Session(t, tw.Ours), "UPDATE hot SET n = n + 1 WHERE id = 10")
		select {
		case a := <-answer:
			require.Fail(t, "it did not wait", a)
		case <-time.After(300 * time.Millisecond):
		}
		require.NoError(t, tx.Rollback())
		require.Equal(t, "affected 1", harness.Soon(t, answer))
		require.Empty(t, harness.Stats(t, tw.Ours).Errors)
	})
}
