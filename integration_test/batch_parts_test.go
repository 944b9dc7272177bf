package integration_test

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

	"github.com/countermysql/countermysql/internal/testserver"
)

// together runs statements that wait together for a batch under way, each on a
// connection of its own, and tells their answers, and what was sent after that batch.
func (tw *twin) together(t *testing.T, blocking string, waiting ...string) (answers []string, sent []string) {
	t.Helper()
	conns := make([]execer, len(waiting))
	for i := range waiting {
		conns[i] = session(t, tw.ours)
	}
	g := newGate(t, tw.sent)
	first := later(t, tw.ours, blocking)
	<-g.reached
	var all []<-chan string
	for i, text := range waiting {
		all = append(all, later(t, conns[i], text))
		queue()
	}
	for _, s := range tw.sent.during(func() {
		g.open()
		require.Equal(t, "affected 1", soon(t, first))
		for _, a := range all {
			answers = append(answers, soon(t, a))
		}
	}) {
		sent = append(sent, s.text)
	}
	return answers, sent
}

// queue waits until the callers before have come, long before the lead counts as stalled.
func queue() { time.Sleep(60 * time.Millisecond) }

// TestOpposite proves that increments which cancel out in a batch go together as
// others do, and that each of them finds out whether its counter is NULL.
func TestOpposite(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, crowded, crowdedCounters())
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
				want = append(want, fmt.Sprint("affected ", affected(t, tw.plain, text)))
			}
			blocking := step("n", 1, 5)
			if strings.Contains(c.waiting[0], "seen") {
				blocking = "UPDATE seen SET n = n + 1 WHERE id = 2"
			}
			require.EqualValues(t, 1, affected(t, tw.plain, blocking))
			got, sent := tw.together(t, blocking, c.waiting...)
			require.Equal(t, want, got, "%v", c.waiting)
			for _, text := range sent {
				require.True(t, !c.whole || insertsSlots.MatchString(text), text)
			}
			require.Equal(t, contents(t, tw.plain), contents(t, tw.ours), "%v", c.waiting)
		}
		require.NotContains(t, stats(t, tw.ours).Errors, uint16(1064))
	})
}

// TestLeaderLeftOut proves that where the one who leads is left out of its batch, and
// its connection is found dead after that, the others do not get the error of it.
func TestLeaderLeftOut(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		conns := []execer{session(t, tw.ours), session(t, tw.ours), session(t, tw.ours)}
		reached, open := make(chan struct{}), make(chan struct{})
		var mu sync.Mutex
		var texts []string
		tw.sent.meddle(t, func(query string) error {
			if !insertsSlots.MatchString(query) {
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
		first := later(t, tw.ours, "UPDATE post SET likes = likes + 1 WHERE id = 2")
		<-reached
		var answers []<-chan string
		for i, id := range []int{77, 1, 2} {
			answers = append(answers, later(t, conns[i], fmt.Sprintf("UPDATE post SET likes = likes + 1 WHERE id = %d", id)))
			queue()
		}
		close(open)
		require.Equal(t, "affected 1", soon(t, first))
		for i, want := range []string{"affected 0", "affected 1", "affected 1"} {
			require.Equal(t, want, soon(t, answers[i]))
		}
		require.True(t, len(texts) > 3 && strings.Contains(texts[1], "77") && !strings.Contains(texts[2], "77"), strings.Join(texts, "\n"))
		require.EqualValues(t, 11+11, number(t, tw.ours, "SELECT SUM(likes) FROM post WHERE id <= 2"))
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
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newTwin(t, srv, schema, counters("word", "n"), "interpolateParams=true", "maxAllowedPacket=8192")
		tw.ours.SetMaxOpenConns(clients)
		tw.ours.SetMaxIdleConns(clients)
		var c crowd
		c.run(clients, func(i int) {
			for range 5 {
				_, err := tw.ours.ExecContext(t.Context(), "UPDATE word SET n = n + 1 WHERE w = ?", key(i))
				c.check(err)
				tx, err := tw.ours.BeginTx(t.Context(), nil)
				if !c.check(err) {
					continue
				}
				_, err = tx.ExecContext(t.Context(), "UPDATE word SET n = n + 1 WHERE w = ?", key(i))
				c.check(err)
				c.check(tx.Commit())
			}
		})
		c.noDeadlocks(t)
		require.EqualValues(t, 10*clients, number(t, tw.ours, "SELECT SUM(n) FROM word"))
		require.Greater(t, stats(t, tw.ours).Groups.Counts[2], int64(0), "nothing went together")
	})
}

// TestDeadLeader proves that a COMMIT whose connection has died while its transaction
// was open does not take others' increments along: they go on another connection.
func TestDeadLeader(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		conns := []*sql.Conn{session(t, tw.ours), session(t, tw.ours), session(t, tw.ours)}
		id := number(t, conns[0], "SELECT CONNECTION_ID()")
		tx, err := conns[0].BeginTx(t.Context(), nil)
		require.NoError(t, err)
		affected(t, tx, "UPDATE post SET likes = likes + 100 WHERE id = 1")
		affected(t, tw.direct, fmt.Sprintf("KILL %d", id))
		require.Eventually(t, func() bool {
			return number(t, tw.direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", id) == 0
		}, 5*time.Second, 10*time.Millisecond)

		g := newGate(t, tw.sent)
		first := later(t, tw.ours, "UPDATE post SET likes = likes + 1 WHERE id = 2")
		<-g.reached
		committed := make(chan error, 1)
		go func() { committed <- tx.Commit() }()
		queue()
		answers := []<-chan string{later(t, conns[1], likeOne), later(t, conns[2], "UPDATE post SET likes = likes + 1 WHERE id = 2")}
		queue()
		g.open()
		require.Equal(t, "affected 1", soon(t, first))
		for _, a := range answers {
			require.Equal(t, "affected 1", soon(t, a))
		}
		require.ErrorIs(t, <-committed, mysql.ErrInvalidConn) // as plain
		require.EqualValues(t, 11+11, number(t, tw.ours, "SELECT SUM(likes) FROM post WHERE id <= 2"))
	})
}
