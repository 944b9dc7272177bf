package groups

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/testserver"
)

// TestWhoGoesTogether proves that increments wait for the batch that is under
// way if they may share a transaction, and do not if they may not: those of a
// session that was changed, of another table, and all of them without group commit.
func TestWhoGoesTogether(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, config := range []*countermysql.Config{harness.BlogCounters(), {Tables: harness.BlogCounters().Tables, NoGroupCommit: true}} {
			tw := harness.NewBlog(t, srv, config)
			alone := map[string]*sql.Conn{}
			for _, change := range []string{"SET @x = 1", "SET sql_mode = ''", "SET NAMES latin1", "SET time_zone = '+03:00'", "USE information_schema", "SET SESSION innodb_lock_wait_timeout = 3", "DO 1", "SET autocommit = 1"} {
				conn := harness.Session(t, tw.Ours)
				harness.Affected(t, conn, change)
				alone[change] = conn
			}
			first, second, third := harness.Session(t, tw.Ours), harness.Session(t, tw.Ours), harness.Session(t, tw.Ours)
			g := harness.NewGate(t, tw.Sent)
			leads := harness.Later(t, first, harness.LikeOne)
			<-g.Reached
			waits := harness.Later(t, second, harness.LikeOne)
			if config.NoGroupCommit {
				require.Equal(t, "affected 1", harness.Soon(t, waits))
			} else {
				time.Sleep(50 * time.Millisecond) // before the lead counts as stalled
				require.Empty(t, waits)
			}
			like := strings.Replace(harness.LikeOne, "post", tw.Name(t)+".post", 1)
			for change, conn := range alone {
				require.Equal(t, "affected 1", harness.Soon(t, harness.Later(t, conn, like)), change)
			}
			require.EqualValues(t, 1, harness.Affected(t, third, "UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'home'"))
			g.Open()
			require.Equal(t, "affected 1", harness.Soon(t, leads))
			if !config.NoGroupCommit {
				require.Equal(t, "affected 1", harness.Soon(t, waits))
			}
			require.EqualValues(t, 10+2+len(alone), harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
		}
	})
}

// TestGroupWithdrawn proves that increments whose context ends while they wait
// are not sent, and that the batch of a leader whose context ends goes on.
func TestGroupWithdrawn(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewBlog(t, srv, harness.BlogCounters())
		g := harness.NewGate(t, tw.Sent)
		first := harness.Later(t, tw.Ours, harness.LikeOne)
		<-g.Reached
		ctx, cancel := context.WithCancel(t.Context())
		withdrawn := make(chan error, 1)
		go func() {
			_, err := tw.Ours.ExecContext(ctx, harness.LikeOne)
			withdrawn <- err
		}()
		require.Eventually(t, func() bool { return tw.Ours.Stats().InUse == 2 }, 5*time.Second, time.Millisecond)
		time.Sleep(20 * time.Millisecond)
		cancel()
		require.ErrorIs(t, <-withdrawn, context.Canceled)
		others := []<-chan string{harness.Later(t, tw.Ours, harness.LikeOne), harness.Later(t, tw.Ours, "UPDATE post SET likes = likes + 1 WHERE id = 77"), harness.Later(t, tw.Ours, "UPDATE post SET likes = likes + 5 WHERE slug = 'b'")}
		g.Open()
		require.Equal(t, "affected 1", harness.Soon(t, first))
		require.Equal(t, "affected 1", harness.Soon(t, others[0]))
		require.Equal(t, "affected 0", harness.Soon(t, others[1]))
		require.Equal(t, "affected 1", harness.Soon(t, others[2]))
		require.EqualValues(t, 12, harness.Number(t, tw.Ours, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestLockedRow proves that a row which somebody keeps locked holds up its own
// increments and no others.
func TestLockedRow(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := harness.NewHot(t, srv, countermysql.ReadOwnLatest)
		holder, err := tw.Direct.Begin()
		require.NoError(t, err)
		defer holder.Rollback()
		harness.Number(t, holder, "SELECT n FROM hot WHERE id = 10 FOR UPDATE")
		var held []<-chan string
		for range 8 {
			held = append(held, harness.Later(t, tw.Ours, "UPDATE hot SET n = n + 1 WHERE id = 10"))
		}
		held = append(held, harness.Later(t, tw.Ours, "UPDATE hot SET n = n + 1 WHERE id IN (10, 20)"))
		var c harness.Crowd
		c.Run(16, func(i int) {
			for k := range 20 {
				id := 20 + (i+k)%7*10
				switch k % 4 {
				case 0:
					_, err := tw.Ours.ExecContext(t.Context(), "UPDATE hot SET n = n + 1 WHERE id = ?", id)
					c.Check(err)
				case 1:
					_, err := tw.Ours.ExecContext(t.Context(), "UPDATE hot SET n = n + 1 WHERE id IN (20, 30)")
					c.Check(err)
				case 2:
					_, err := incrementOne(t.Context(), tw.Ours, id)
					c.Check(err)
				default:
					_, err := tw.Ours.ExecContext(t.Context(), "UPDATE hot SET n = GREATEST(n, 0) WHERE id = ?", id)
					c.Check(err)
				}
			}
		})
		c.NoDeadlocks(t)
		for _, h := range held {
			require.Empty(t, h)
		}
		require.EqualValues(t, 16*(5+10+5), harness.Number(t, tw.Ours, "SELECT SUM(n) FROM hot WHERE id > 10"))
		require.NoError(t, holder.Rollback())
		for i, h := range held {
			require.Equal(t, fmt.Sprint("affected ", 1+i/8), harness.Soon(t, h))
		}
		require.EqualValues(t, 9, harness.Number(t, tw.Ours, "SELECT n FROM hot WHERE id = 10"))
	})
}

// incrementOne is what GORM does: a transaction of one increment.
func incrementOne(ctx context.Context, db *sql.DB, id int) (int64, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, "UPDATE hot SET n = n + 1 WHERE id = ?", id)
	if err != nil {
		return 0, err
	}
	n, _ := res.RowsAffected()
	return n, tx.Commit()
}

// TestGroupKilled proves that nothing is lost or counted twice when connections
// and statements are killed and contexts end at any moment, and that nobody is
// told driver.ErrBadConn of an increment that was made.
func TestGroupKilled(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		everyWay(t, func(t *testing.T, kill string) {
			tw := harness.NewHot(t, srv, countermysql.ReadOwnLatest)
			l := killing{24, 60, 1500 * time.Microsecond, func(ctx context.Context, conn *sql.Conn, client, k int) (int64, error) {
				id := 10 + rand.IntN(3)*10
				if k%3 == 0 {
					return txOnConn(ctx, conn, id)
				}
				return execOnConn(ctx, conn, "UPDATE hot SET n = n + 1 WHERE id = ?", id)
			}}.run(t, srv, tw, kill)
			l.Check(t, harness.Number(t, tw.Ours, "SELECT SUM(n) FROM hot"))
			if kill != "KILL QUERY" {
				require.NotZero(t, l.unknown.Load()+l.refused.Load(), "nobody was hit")
			}
		})
	})
}

func execOnConn(ctx context.Context, conn *sql.Conn, query string, args ...any) (int64, error) {
	res, err := conn.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func txOnConn(ctx context.Context, conn *sql.Conn, id int) (int64, error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, driver.ErrBadConn // nothing was done
	}
	res, err := tx.ExecContext(ctx, "UPDATE hot SET n = n + 1 WHERE id = ?", id)
	if err != nil {
		_ = tx.Rollback()
		return 0, driver.ErrBadConn // likewise
	}
	n, _ := res.RowsAffected()
	return n, tx.Commit()
}

// TestCommitNeverWithoutIncrements proves that a transaction of increments
// whose batch fails, one time after another, is committed with all of them or
// not at all.
func TestCommitNeverWithoutIncrements(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		nowait := uint16(3572)
		if harness.MariaDB(srv) {
			nowait = 1205
		}
		for _, failures := range [][]uint16{{1213}, {1213, nowait}, {nowait}, {nowait, 1213}, {1213, 1213, 1690}, {1317}, {1213, 1317}, {1205}, {1290}, {1969}, {1213, nowait, 1213}, {nowait, 1205}} {
			{
				t.Run(fmt.Sprint(failures), func(t *testing.T) {
					tw := harness.NewBlog(t, srv, harness.BlogCounters())
					const likes = "SELECT SUM(likes) FROM post WHERE id <= 2"
					before := harness.Number(t, tw.Ours, likes)
					tx, err := tw.Ours.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					defer tx.Rollback()
					harness.Affected(t, tx, harness.LikeOne)
					harness.Affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 2")
					left := failures
					tw.Sent.Meddle(t, func(query string) error {
						if !harness.InsertsSlots.MatchString(query) || len(left) == 0 {
							return nil
						}
						n := left[0]
						left = left[1:]
						return &mysql.MySQLError{Number: n, Message: "made by the test"}
					})
					err = tx.Commit()
					tw.Sent.Before.Store(nil)
					if err == nil {
						before += 2
					}
					require.Equal(t, before, harness.Number(t, tw.Ours, likes), "%v", err)
				})
			}
		}
	})
}

// TestDeadlockAtCommit proves that a transaction which the server rolls back
// while its increments are sent is gone as a whole, and COMMIT says so.
func TestDeadlockAtCommit(t *testing.T) {
	harness.ForEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, start := range starts {
			t.Run(name, func(t *testing.T) {
				tw := harness.NewBlog(t, srv, harness.BlogCounters())
				const all = "SELECT (SELECT SUM(likes) FROM post), (SELECT COUNT(*) FROM note WHERE id = 1), (SELECT title FROM post WHERE id = 3)"
				before := harness.Queried(t.Context(), tw.Ours, all)
				conn := harness.Session(t, tw.Ours)
				on, commit := start(t, conn)
				harness.Affected(t, on, "INSERT INTO note VALUES (1, 'x')")
				harness.Affected(t, on, "UPDATE post SET title = 'edited' WHERE id = 3")
				harness.Affected(t, on, harness.LikeOne)
				other, err := tw.Direct.Begin()
				require.NoError(t, err)
				defer other.Rollback()
				for id := 100; id < 150; id++ { // so much that ours is the victim
					harness.Affected(t, other, "INSERT INTO note VALUES (?, '')", id)
				}
				harness.Number(t, other, "SELECT likes FROM post WHERE id = 1 FOR UPDATE")
				committed := make(chan error, 1)
				go func() { committed <- commit() }()
				require.Eventually(t, func() bool {
					return harness.Number(t, tw.Direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'INSERT INTO%' AND COMMAND <> 'Sleep'") > 0
				}, 5*time.Second, 10*time.Millisecond)
				time.Sleep(50 * time.Millisecond)
				harness.Number(t, other, "SELECT likes FROM post WHERE id = 3 FOR UPDATE")
				require.NoError(t, other.Rollback())
				require.Equal(t, 1213, harness.ErrorNumber(<-committed))
				require.Equal(t, before, harness.Queried(t.Context(), tw.Ours, all))
			})
		}
	})
}
