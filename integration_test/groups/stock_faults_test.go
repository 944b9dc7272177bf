package groups

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

const (
	storage = "CREATE TABLE item (id INT PRIMARY KEY, stock INT NOT NULL, spare INT UNSIGNED NOT NULL);\nINSERT INTO item VALUES (1, 1000000, 3), (2, 5, 0)"
	buyOne  = "UPDATE item SET stock = stock - 1 WHERE id = 1 AND stock >= 1"
)

func newStorage(t *testing.T, srv *testserver.Server, params ...string) *harness.Twin {
	t.Helper()
	tw := harness.NewTwin(t, srv, storage, harness.Counters("item", "stock", "spare"), append(params, "innodb_lock_wait_timeout=20")...)
	tw.Ours.SetMaxIdleConns(48)
	return tw
}

func stockOf(t *testing.T, tw *harness.Twin, id int) int64 {
	t.Helper()
	return harness.Number(t, tw.Ours, "SELECT stock FROM item WHERE id = ?", id)
}

// TestStockSellsOut proves that exactly what is there is sold, by several processes that
// have nothing in common but the server, in ones and in more, while some comes back.
func TestStockSellsOut(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newStorage(t, srv, "interpolateParams=true")
		tw.Sent.Off.Store(true)
		other, _ := harness.OpenOurs(t, tw.OursDSN, tw.Config)
		harness.Affected(t, tw.Direct, "UPDATE item SET stock = 150 WHERE id = 1")
		var c harness.Crowd
		var sold, back atomic.Int64
		c.Run(16, func(client int) {
			db := []*sql.DB{tw.Ours, other}[client%2]
			for k := range 25 {
				n, text := int64(1+rand.IntN(2)), "UPDATE item SET stock = stock - ? WHERE id = 1 AND stock >= ?"
				args := []any{n, n}
				if client == 0 && k < 5 {
					n, text, args = -1, "UPDATE item SET stock = stock + ? WHERE id = 1", []any{1}
				}
				res, err := db.ExecContext(t.Context(), text, args...)
				if !c.Check(err) {
					continue
				}
				if rows, _ := res.RowsAffected(); n < 0 {
					back.Add(rows)
				} else {
					sold.Add(n * rows)
				}
			}
		})
		c.NoDeadlocks(t)
		require.EqualValues(t, 5, back.Load())
		left := stockOf(t, tw, 1)
		require.Equal(t, int64(155), sold.Load()+left)
		require.Zero(t, left, "some was left for who wanted one")
	})
}

// takesOne are updates of one row that wait for each other, and go together in different ways.
var takesOne = []string{
	buyOne, "UPDATE item SET stock = GREATEST(stock - 1, 0) WHERE id = 1", "UPDATE item SET stock = stock - 1 WHERE id = 1",
	"UPDATE item SET stock = IF(stock > 0, stock - 1, 0) WHERE id = 1",
}

// TestStockKilled proves that no sale is lost, or made twice, when connections and
// statements are killed and contexts end at any moment.
func TestStockKilled(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		everyWay(t, func(t *testing.T, kill string) {
			tw := newStorage(t, srv, "interpolateParams=true")
			tw.Sent.Off.Store(true)
			l := killing{16, 40, 3 * time.Millisecond, func(ctx context.Context, conn *sql.Conn, client, k int) (int64, error) {
				if (client+k)%5 == 0 { // from time to time there is not enough for all
					return execOnConn(ctx, conn, "UPDATE item SET stock = stock - 1 WHERE id = 1 AND stock >= 2000000")
				}
				return execOnConn(ctx, conn, takesOne[(client+k)%len(takesOne)])
			}}.run(t, srv, tw, kill)
			l.Check(t, 1_000_000-stockOf(t, tw, 1))
		})
	})
}

// TestStockSendsFail proves that whichever statement of a batch fails, and however, everybody
// gets an answer that fits what is stored then: where there is enough for all, and where
// they are served one after the other, by one statement or each by its own.
func TestStockSendsFail(t *testing.T) {
	failures := []error{driver.ErrBadConn, mysql.ErrInvalidConn}
	for _, n := range []uint16{1213, 1205, 1290, 1317, 1053} {
		failures = append(failures, &mysql.MySQLError{Number: n, Message: "made by the test"})
	}
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newStorage(t, srv, "interpolateParams=true")
		for _, c := range []struct {
			id, statements int
			start          int64
			enough         string
		}{{1, 7, 1_000_000, "stock >= ?"}, {2, 7, 5, "stock >= ?"}, {2, 10, 5, "NOT stock < ?"}} {
			id, start := c.id, c.start
			for _, failure := range failures {
				for nth := range c.statements {
					harness.Affected(t, tw.Ours, "UPDATE item SET stock = ? WHERE id = ?", start, id)
					text := fmt.Sprintf("UPDATE item SET stock = stock - ? WHERE id = %d AND %s", id, c.enough)
					g := make(chan struct{})
					var begun, sent atomic.Int64
					var ofOne atomic.Bool // of those who share a transaction, each with a statement
					tw.Sent.Meddle(t, func(query string) error {
						if strings.Contains(query, "SELECT stock FROM") {
							return nil
						}
						if begun.Add(1) == 1 {
							<-g
							return nil
						}
						if sent.Add(1) == int64(nth)+1 {
							ofOne.Store(strings.HasPrefix(query, "UPDATE item") && !strings.Contains(query, "_slots"))
							return failure
						}
						return nil
					})
					type answer struct {
						n, rows int64
						err     error
					}
					answers := make(chan answer, 5)
					for i := range int64(5) {
						go func() {
							n := 1 + i%2
							res, err := tw.Ours.ExecContext(t.Context(), text, n, n)
							if err != nil {
								answers <- answer{n, 0, err}
								return
							}
							rows, _ := res.RowsAffected()
							answers <- answer{n, rows, nil}
						}()
						time.Sleep(2 * time.Millisecond)
					}
					close(g)
					var sold, unknown int64
					for range 5 {
						a := <-answers
						require.False(t, ofOne.Load() && c.enough != "stock >= ?" && harness.ErrorNumber(a.err) == 1317, "the leader's connection was meant")
						switch sold += a.n * a.rows; {
						case a.err != nil && !harness.Refuses(a.err):
							unknown += a.n
						case a.err == nil:
							require.False(t, a.rows == 0 && id == 1, "refused, although there is enough")
						}
					}
					tw.Sent.Before.Store(nil)
					taken := start - stockOf(t, tw, id)
					require.LessOrEqual(t, sold, taken, "%v at statement %d", failure, nth)
					require.LessOrEqual(t, taken, sold+unknown, "%v at statement %d", failure, nth)
					require.LessOrEqual(t, taken, start)
				}
			}
		}
	})
}

// TestStockWithdrawn proves that who stops waiting buys nothing, that the batch of a leader
// whose context ends goes on without him, and that one which waits for a lock does, too.
func TestStockWithdrawn(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newStorage(t, srv)
		holder, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer holder.Rollback()
		harness.Number(t, holder, "SELECT stock FROM item WHERE id = 1 FOR UPDATE")
		first := harness.Later(t, tw.Ours, buyOne)
		time.Sleep(20 * time.Millisecond)
		gone := make(chan error, 2)
		var cancels []func()
		for range 2 { // one of whom leads, perhaps, when the first has stalled
			ctx, cancel := context.WithCancel(t.Context())
			cancels = append(cancels, cancel)
			go func() {
				_, err := tw.Ours.ExecContext(ctx, buyOne)
				gone <- err
			}()
			time.Sleep(10 * time.Millisecond)
		}
		follows := harness.Later(t, tw.Ours, buyOne)
		time.Sleep(400 * time.Millisecond)
		for _, cancel := range cancels {
			cancel()
			require.ErrorIs(t, <-gone, context.Canceled)
		}
		require.Empty(t, follows)
		require.NoError(t, holder.Rollback())
		require.Equal(t, "affected 1", harness.Soon(t, first))
		require.Equal(t, "affected 1", harness.Soon(t, follows))
		require.Eventually(t, func() bool { return stockOf(t, tw, 1) <= 1_000_000-2 }, 10*time.Second, 10*time.Millisecond)
		require.GreaterOrEqual(t, stockOf(t, tw, 1), int64(1_000_000-4))
	})
}

// TestStockApart proves that sessions which were changed, or are without group commit, do not
// wait for who is under way, and nobody for those of another row.
func TestStockApart(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, off := range []bool{false, true} {
			config := harness.Counters("item", "stock", "spare")
			config.NoGroupCommit = off
			tw := harness.NewTwin(t, srv, storage, config, "multiStatements=true", "innodb_lock_wait_timeout=20")
			alone := map[string]*sql.Conn{}
			for _, change := range []string{"SET @x = 1", "SET sql_mode = ''", "SET sql_safe_updates = 1", "SET NAMES latin1", "SET time_zone = '+03:00'"} {
				conn := harness.Session(t, tw.Ours)
				harness.Affected(t, conn, change)
				alone[change] = conn
			}
			g := harness.NewGateOn(t, tw.Sent, func(query string) bool { return strings.HasPrefix(query, "UPDATE item") })
			leads := harness.Later(t, tw.Ours, buyOne)
			<-g.Reached
			waits := harness.Later(t, tw.Ours, buyOne)
			for change, conn := range alone {
				require.Equal(t, "affected 1", harness.Soon(t, harness.Later(t, conn, buyOne)), change)
			}
			require.Equal(t, "affected 1", harness.Soon(t, harness.Later(t, tw.Ours, "UPDATE item SET stock = stock - 1 WHERE id = 2 AND stock >= 1")))
			g.Open()
			require.Equal(t, "affected 1", harness.Soon(t, leads))
			require.Equal(t, "affected 1", harness.Soon(t, waits))
			var many [4]<-chan string
			for i := range many {
				many[i] = harness.Later(t, tw.Ours, buyOne+"; UPDATE item SET spare = spare - 1 WHERE id = 1 AND spare >= 1")
			}
			got := map[string]int{}
			for _, m := range many {
				got[harness.Soon(t, m)]++
			}
			require.Equal(t, map[string]int{"affected 1": 3, "affected 0": 1}, got)
			require.EqualValues(t, 1_000_000-len(alone)-6, stockOf(t, tw, 1))
		}
	})
}
