package accepted

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestAcceptedOneStatement pins that the server gets one statement of one
// connection for the increments of many callers, by its own counters.
func TestAcceptedOneStatement(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		var writes [2][]int64 // by connection
		for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
			conns, _ := sessions(t, db, 5)
			for _, conn := range conns {
				writes[i] = append(writes[i], -written(t, conn))
			}
			for _, answer := range together(t, tw, db, conns, nil) {
				require.NoError(t, <-answer)
			}
			for k, conn := range conns {
				writes[i][k] += written(t, conn)
			}
			require.EqualValues(t, 15, harness.Number(t, db, "SELECT likes FROM post WHERE id = 1"))
		}
		require.Equal(t, []int64{1, 1, 1, 1, 1}, writes[0])
		require.Equal(t, []int64{1, 1, 0, 0, 0}, writes[1], "the one that has waited longest sends for all")
	})
}

// written is how many statements that may change a counter a connection has sent.
func written(t *testing.T, conn *sql.Conn) (all int64) {
	t.Helper()
	for _, command := range []string{"Com_update", "Com_insert_select"} {
		var name string
		var n int64
		require.NoError(t, conn.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE '"+command+"'").Scan(&name, &n))
		all += n
	}
	return all
}

// sessions are connections with their ids.
func sessions(t *testing.T, db *sql.DB, n int) (conns []*sql.Conn, ids []int64) {
	t.Helper()
	for range n {
		conn := harness.Session(t, db)
		conns, ids = append(conns, conn), append(ids, harness.Number(t, conn, "SELECT CONNECTION_ID()"))
	}
	return conns, ids
}

// together increments on all connections: the first is under way when the
// others come. second is called before another statement writes slots.
func together(t *testing.T, tw *harness.Twin, db *sql.DB, conns []*sql.Conn, second func()) (answers []chan error) {
	t.Helper()
	under, release := make(chan struct{}), make(chan struct{})
	var n atomic.Int64
	tw.Sent.Meddle(t, func(query string) error {
		switch {
		case !harness.InsertsSlots.MatchString(query):
		case n.Add(1) == 1:
			close(under)
			<-release
		case second != nil:
			second()
		}
		return nil
	})
	for i, conn := range conns {
		answer := make(chan error, 1)
		answers = append(answers, answer)
		go func() {
			answer <- conn.Raw(func(raw any) error { // ExecContext would hide driver.ErrBadConn
				_, err := raw.(driver.ExecerContext).ExecContext(context.WithoutCancel(t.Context()), harness.LikeOne, nil)
				return err
			})
		}()
		if db == tw.Ours && i == 0 {
			<-under
		} else if i == 1 {
			time.Sleep(20 * time.Millisecond) // it is the one that has waited longest
		}
	}
	time.Sleep(20 * time.Millisecond) // all in all less than the driver waits for the first
	close(release)
	return answers
}

// TestAcceptedBrokenBatch pins that a connection which breaks under a batch
// leaves all its callers with an error, none of them with driver.ErrBadConn: on
// plain MySQL only its own caller.
func TestAcceptedBrokenBatch(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for i, db := range []*sql.DB{tw.Plain, tw.Ours} {
			conns, ids := sessions(t, db, 4)
			direct := tw.DirectTo(db)
			kill := func() {
				harness.Affected(t, direct, fmt.Sprintf("KILL %d", ids[1]))
				require.Eventually(t, func() bool {
					return harness.Number(t, direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", ids[1]) == 0
				}, 5*time.Second, time.Millisecond)
			}
			if db == tw.Plain {
				kill()
			}
			var failed []int
			for k, answer := range together(t, tw, db, conns, kill) {
				if err := <-answer; err != nil {
					require.NotErrorIs(t, err, driver.ErrBadConn, "it would be sent again")
					failed = append(failed, k)
				}
			}
			require.Equal(t, [][]int{{1}, {1, 2, 3}}[i], failed)
			require.EqualValues(t, 10+4-len(failed), harness.Number(t, db, "SELECT likes FROM post WHERE id = 1"))
		}
	})
}

// TestAcceptedBegin pins that a transaction of nothing but increments is none
// to the server, unless it was begun by text.
func TestAcceptedBegin(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		for _, db := range []*sql.DB{tw.Plain, tw.Ours} {
			conns, ids := sessions(t, db, 1)
			tx, err := conns[0].BeginTx(t.Context(), nil)
			require.NoError(t, err)
			harness.Affected(t, tx, harness.LikeOne)
			_, begun := harness.Transactions(t, tw.Direct)[fmt.Sprint(ids[0])]
			require.Equal(t, db == tw.Plain, begun)
			require.NoError(t, tx.Rollback())
		}
		var texts []string
		for _, s := range tw.Sent.During(func() {
			conn := harness.Session(t, tw.Ours)
			harness.Affected(t, conn, "BEGIN")
			harness.Affected(t, conn, harness.LikeOne)
			harness.Affected(t, conn, "ROLLBACK")
		}) {
			texts = append(texts, s.Text)
		}
		require.Contains(t, texts, "BEGIN")
	})
}

// TestAcceptedChangedSession pins that a connection sends its increments by
// itself once a statement has changed its session, be it only perhaps.
func TestAcceptedChangedSession(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		harness.Affected(t, tw.Direct, "CREATE PROCEDURE nothing() DO 1")
		for _, change := range []string{"CALL nothing()", "SET @x = 1"} {
			conns, _ := sessions(t, tw.Ours, 3)
			harness.Affected(t, conns[2], change)
			var before []int64
			for _, conn := range conns {
				before = append(before, written(t, conn))
			}
			for _, answer := range together(t, tw, tw.Ours, conns, nil) {
				require.NoError(t, <-answer)
			}
			for i, conn := range conns {
				require.Equal(t, before[i]+1, written(t, conn), "%s, %d", change, i)
			}
		}
	})
}
