package groups

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestOpposite proves that increments which cancel out in a batch go together as
// others do, and that each of them finds out whether its counter is NULL.
func TestOpposite(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, harness.Crowded, harness.CrowdedCounters())
		step := func(table string, d, id int) string {
			return fmt.Sprintf("UPDATE item SET %s = %[1]s + %d WHERE id = %d", table, d, id)
		}
		for _, c := range []struct {
			waiting []string
			whole   bool // nobody is left out
		}{
			{[]string{step("n", 1, 1), step("n", -1, 1)}, true},
			{[]string{step("n", 3, 1), step("n", -1, 1), step("n", -2, 1), step("n", 1, 1), step("n", -1, 1)}, true},
			{[]string{step("n", 1, 1), step("n", -1, 1), step("m", 4, 1), step("d", 2, 1), step("d", -2, 1), step("n", 5, 3)}, true},
			{[]string{"UPDATE item SET n = n + 1, m = m - 1 WHERE id = 1", "UPDATE item SET n = n - 1, m = m + 1 WHERE id = 1"}, true},
			{[]string{"UPDATE seen SET n = n + 1 WHERE id = 1", "UPDATE seen SET n = n - 1 WHERE id = 1"}, true},
			{[]string{step("m", 1, 11), step("m", -1, 11), step("n", 1, 11), step("d", 1, 2)}, false}, // m is NULL
			{[]string{step("n", 1, 77), step("n", -1, 77), step("n", 1, 2)}, false},                   // no row
		} {
			var want []string
			for _, text := range c.waiting {
				want = append(want, fmt.Sprint("affected ", harness.Affected(t, tw.Plain, text)))
			}
			blocking := step("n", 1, 5)
			if strings.Contains(c.waiting[0], "seen") {
				blocking = "UPDATE seen SET n = n + 1 WHERE id = 2"
			}
			require.EqualValues(t, 1, harness.Affected(t, tw.Plain, blocking))
			got, sent := tw.Together(t, blocking, c.waiting...)
			require.Equal(t, want, got, "%v", c.waiting)
			for _, text := range sent {
				require.True(t, !c.whole || harness.InsertsSlots.MatchString(text), text)
			}
			require.Equal(t, contents(t, tw.Plain), contents(t, tw.Ours), "%v", c.waiting)
		}
		require.NotContains(t, harness.Stats(t, tw.Ours).Errors, uint16(1064))
	})
}

// TestLeaderLeftOut proves that where the one who leads is left out of its batch, and
// its connection is found dead after that, the others do not get the error of it.
func TestLeaderLeftOut(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		conns := []harness.Execer{harness.Session(t, tw.Ours), harness.Session(t, tw.Ours), harness.Session(t, tw.Ours)}
		reached, open := make(chan struct{}), make(chan struct{})
		var mu sync.Mutex
		var texts []string
		tw.Sent.Meddle(t, func(query string) error {
			if !harness.InsertsSlots.MatchString(query) {
				return nil
			}
			mu.Lock()
			texts = append(texts, query)
			n := len(texts)
			mu.Unlock()
			switch n {
			case 1:
				close(reached)
				<-open
			case 3: // without the leader's row, which is missing
				return driver.ErrBadConn
			}
			return nil
		})
		first := harness.Later(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 2")
		<-reached
		const missing = 987654321 // which no database's name has
		var answers []<-chan string
		for i, id := range []int{missing, 1, 2} {
			answers = append(answers, harness.Later(t, conns[i], fmt.Sprintf("UPDATE post SET likes = likes + 1 WHERE id = %d", id)))
			harness.Queue()
		}
		close(open)
		require.Equal(t, "affected 1", harness.Soon(t, first))
		for i, want := range []string{"affected 0", "affected 1", "affected 1"} {
			require.Equal(t, want, harness.Soon(t, answers[i]))
		}
		require.True(t, len(texts) > 3 && strings.Contains(texts[1], fmt.Sprint(missing)) && !strings.Contains(texts[2], fmt.Sprint(missing)), strings.Join(texts, "\n"))
		require.EqualValues(t, 11+11, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post WHERE id <= 2"))
	})
}

// TestSmallPackets proves that a batch, and what is looked up together, fits into a
// packet, however little that may hold: who goes together would fail for the others.
func TestSmallPackets(t *testing.T) {
	const clients = 40
	schema := "CREATE TABLE word (w VARCHAR(600) PRIMARY KEY, n INT NOT NULL DEFAULT 0)"
	key := func(i int) string { return fmt.Sprintf("%s%d", strings.Repeat("a", 500), i) }
	for i := range clients {
		schema += fmt.Sprintf(";\nINSERT INTO word (w) VALUES ('%s')", key(i))
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewTwin(t, srv, schema, harness.Counters("word", "n"), "interpolateParams=true", "maxAllowedPacket=8192")
		tw.Ours.SetMaxOpenConns(clients)
		tw.Ours.SetMaxIdleConns(clients)
		var c harness.Crowd
		c.Run(clients, func(i int) {
			for range 5 {
				_, err := tw.Ours.ExecContext(t.Context(), "UPDATE word SET n = n + 1 WHERE w = ?", key(i))
				c.Check(err)
				tx, err := tw.Ours.BeginTx(t.Context(), nil)
				if !c.Check(err) {
					continue
				}
				_, err = tx.ExecContext(t.Context(), "UPDATE word SET n = n + 1 WHERE w = ?", key(i))
				c.Check(err)
				c.Check(tx.Commit())
			}
		})
		c.NoDeadlocks(t)
		require.EqualValues(t, 10*clients, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM word"))
		require.Greater(t, harness.Stats(t, tw.Ours).Groups.Counts[2], int64(0), "nothing went together")
	})
}

// TestDeadLeader proves that a COMMIT whose connection has died while its transaction
// was open does not take others' increments along: they go on another connection.
func TestDeadLeader(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		conns := []*sql.Conn{harness.Session(t, tw.Ours), harness.Session(t, tw.Ours), harness.Session(t, tw.Ours)}
		id := harness.Number(t, conns[0], "SELECT CONNECTION_ID()")
		tx, err := conns[0].BeginTx(t.Context(), nil)
		require.NoError(t, err)
		harness.Affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id = 1")
		harness.Affected(t, tw.Direct, fmt.Sprintf("KILL %d", id))
		require.Eventually(t, func() bool {
			return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", id) == 0
		}, 5*time.Second, 10*time.Millisecond)

		g := harness.NewGate(t, tw.Sent)
		first := harness.Later(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 2")
		<-g.Reached
		committed := make(chan error, 1)
		go func() { committed <- tx.Commit() }()
		harness.Queue()
		answers := []<-chan string{harness.Later(t, conns[1], harness.LikeOne), harness.Later(t, conns[2], "UPDATE post SET likes = likes + 1 WHERE id = 2")}
		harness.Queue()
		g.Open()
		require.Equal(t, "affected 1", harness.Soon(t, first))
		for _, a := range answers {
			require.Equal(t, "affected 1", harness.Soon(t, a))
		}
		require.ErrorIs(t, <-committed, mysql.ErrInvalidConn) // as plain
		require.EqualValues(t, 11+11, harness.Number(t, tw.Ours, "SELECT SUM(likes) FROM post WHERE id <= 2"))
	})
}
