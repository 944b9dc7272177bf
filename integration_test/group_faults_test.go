package integration_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// gate holds up the first statement that writes slots until it is opened.
type gate struct {
	reached, opened chan struct{}
	passed          atomic.Bool
	open            func()
}

func newGate(t *testing.T, r *recorder) *gate { return newGateOn(t, r, writesSlots.MatchString) }

func newGateOn(t *testing.T, r *recorder, holds func(query string) bool) *gate {
	g := &gate{reached: make(chan struct{}), opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	t.Cleanup(g.open)
	r.meddle(t, func(query string) error {
		if holds(query) && g.passed.CompareAndSwap(false, true) {
			close(g.reached)
			<-g.opened
		}
		return nil
	})
	return g
}

const likeOne = "UPDATE post SET likes = likes + 1 WHERE id = 1"

// later runs a statement and tells its answer.
func later(t *testing.T, on execer, query string, args ...any) <-chan string {
	answer := make(chan string, 1)
	go func() {
		res, err := on.ExecContext(context.WithoutCancel(t.Context()), query, args...)
		if err != nil {
			answer <- told(err)
			return
		}
		n, _ := res.RowsAffected()
		answer <- fmt.Sprint("affected ", n)
	}()
	return answer
}

func soon(t *testing.T, answer <-chan string) string {
	t.Helper()
	select {
	case a := <-answer:
		return a
	case <-time.After(20 * time.Second):
		require.FailNow(t, "it still waits")
		return ""
	}
}

// TestWhoGoesTogether proves that increments wait for the batch that is under
// way if they may share a transaction, and do not if they may not: those of a
// session that was changed, of another table, and all of them without group commit.
func TestWhoGoesTogether(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, config := range []*countermysql.Config{blogCounters(), {Tables: blogCounters().Tables, NoGroupCommit: true}} {
			tw := newBlog(t, srv, config)
			alone := map[string]*sql.Conn{}
			for _, change := range []string{"SET @x = 1", "SET sql_mode = ''", "SET NAMES latin1", "SET time_zone = '+03:00'", "USE information_schema", "SET SESSION innodb_lock_wait_timeout = 3", "DO 1", "SET autocommit = 1"} {
				conn := session(t, tw.ours)
				affected(t, conn, change)
				alone[change] = conn
			}
			first, second, third := session(t, tw.ours), session(t, tw.ours), session(t, tw.ours)
			g := newGate(t, tw.sent)
			leads := later(t, first, likeOne)
			<-g.reached
			waits := later(t, second, likeOne)
			if config.NoGroupCommit {
				require.Equal(t, "affected 1", soon(t, waits))
			} else {
				time.Sleep(50 * time.Millisecond) // before the lead counts as stalled
				require.Empty(t, waits)
			}
			like := strings.Replace(likeOne, "post", tw.name(t)+".post", 1)
			for change, conn := range alone {
				require.Equal(t, "affected 1", soon(t, later(t, conn, like)), change)
			}
			require.EqualValues(t, 1, affected(t, third, "UPDATE page SET hits = hits + 1 WHERE day = '2026-01-02' AND name = 'home'"))
			g.open()
			require.Equal(t, "affected 1", soon(t, leads))
			if !config.NoGroupCommit {
				require.Equal(t, "affected 1", soon(t, waits))
			}
			require.EqualValues(t, 10+2+len(alone), number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))
			require.EqualValues(t, 1, number(t, second, "SELECT ROW_COUNT()"))
		}
	})
}

// name is our database's name.
func (tw *twin) name(t *testing.T) string {
	t.Helper()
	var name string
	require.NoError(t, tw.direct.QueryRow("SELECT DATABASE()").Scan(&name))
	return name
}

// TestGroupWithdrawn proves that increments whose context ends while they wait
// are not sent, and that the batch of a leader whose context ends goes on.
func TestGroupWithdrawn(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newBlog(t, srv, blogCounters())
		g := newGate(t, tw.sent)
		first := later(t, tw.ours, likeOne)
		<-g.reached
		ctx, cancel := context.WithCancel(t.Context())
		withdrawn := make(chan error, 1)
		go func() {
			_, err := tw.ours.ExecContext(ctx, likeOne)
			withdrawn <- err
		}()
		require.Eventually(t, func() bool { return tw.ours.Stats().InUse == 2 }, 5*time.Second, time.Millisecond)
		time.Sleep(20 * time.Millisecond)
		cancel()
		require.ErrorIs(t, <-withdrawn, context.Canceled)
		others := []<-chan string{later(t, tw.ours, likeOne), later(t, tw.ours, "UPDATE post SET likes = likes + 1 WHERE id = 77"), later(t, tw.ours, "UPDATE post SET likes = likes + 5 WHERE slug = 'b'")}
		g.open()
		require.Equal(t, "affected 1", soon(t, first))
		require.Equal(t, "affected 1", soon(t, others[0]))
		require.Equal(t, "affected 0", soon(t, others[1]))
		require.Equal(t, "affected 1", soon(t, others[2]))
		require.EqualValues(t, 12, number(t, tw.ours, "SELECT likes FROM post WHERE id = 1"))
	})
}

// TestLockedRow proves that a row which somebody keeps locked holds up its own
// increments and no others.
func TestLockedRow(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		tw := newHot(t, srv, countermysql.ReadOwnLatest)
		holder, err := tw.direct.Begin()
		require.NoError(t, err)
		defer holder.Rollback()
		number(t, holder, "SELECT n FROM hot WHERE id = 10 FOR UPDATE")
		var held []<-chan string
		for range 8 {
			held = append(held, later(t, tw.ours, "UPDATE hot SET n = n + 1 WHERE id = 10"))
		}
		held = append(held, later(t, tw.ours, "UPDATE hot SET n = n + 1 WHERE id IN (10, 20)"))
		var c crowd
		c.run(16, func(i int) {
			for k := range 20 {
				id := 20 + (i+k)%7*10
				switch k % 4 {
				case 0:
					_, err := tw.ours.ExecContext(t.Context(), "UPDATE hot SET n = n + 1 WHERE id = ?", id)
					c.check(err)
				case 1:
					_, err := tw.ours.ExecContext(t.Context(), "UPDATE hot SET n = n + 1 WHERE id IN (20, 30)")
					c.check(err)
				case 2:
					_, err := incrementOne(t.Context(), tw.ours, id)
					c.check(err)
				default:
					_, err := tw.ours.ExecContext(t.Context(), "UPDATE hot SET n = GREATEST(n, 0) WHERE id = ?", id)
					c.check(err)
				}
			}
		})
		c.noDeadlocks(t)
		for _, h := range held {
			require.Empty(t, h)
		}
		require.EqualValues(t, 16*(5+10+5), number(t, tw.ours, "SELECT SUM(n) FROM hot WHERE id > 10"))
		require.NoError(t, holder.Rollback())
		for i, h := range held {
			require.Equal(t, fmt.Sprint("affected ", 1+i/8), soon(t, h))
		}
		require.EqualValues(t, 9, number(t, tw.ours, "SELECT n FROM hot WHERE id = 10"))
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

// tally counts what became of increments of one.
type tally struct{ acknowledged, unknown, refused atomic.Int64 }

// refuses reports whether an error says that nothing was done. driver.ErrBadConn
// does: database/sql sends the statement again.
func refuses(err error) bool {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number != 1053 && e.Number != 1927
	}
	return errors.Is(err, driver.ErrBadConn)
}

func (l *tally) note(rows int64, err error) {
	switch {
	case err == nil:
		l.acknowledged.Add(rows)
	case refuses(err):
		l.refused.Add(1)
	default:
		l.unknown.Add(1)
	}
}

func (l *tally) check(t *testing.T, value int64) {
	t.Helper()
	t.Logf("%d acknowledged, %d refused, %d unknown; the value is %d", l.acknowledged.Load(), l.refused.Load(), l.unknown.Load(), value)
	require.LessOrEqual(t, l.acknowledged.Load(), value, "an acknowledged increment was lost")
	require.LessOrEqual(t, value, l.acknowledged.Load()+l.unknown.Load(), "an increment counted twice, or although it was refused")
}

// TestGroupKilled proves that nothing is lost or counted twice when connections
// and statements are killed and contexts end at any moment, and that nobody is
// told driver.ErrBadConn of an increment that was made.
func TestGroupKilled(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for _, kill := range []string{"KILL QUERY %d", "KILL %d", "cancel"} {
			t.Run(strings.ToLower(strings.Fields(kill)[0]+" "+kill[len(kill)-2:]), func(t *testing.T) {
				tw := newHot(t, srv, countermysql.ReadOwnLatest)
				killer := open(t, srv.DSN(""))
				name := tw.name(t)
				var l tally
				var c crowd
				c.run(24, func(client int) {
					var conn *sql.Conn // the answers of a lone connection are not tried again
					defer func() {
						if conn != nil {
							conn.Close()
						}
					}()
					for k := range 60 {
						var err error
						if conn == nil {
							if conn, err = tw.ours.Conn(t.Context()); err != nil {
								conn = nil
								continue
							}
						}
						ctx, cancel := context.WithCancel(t.Context())
						if kill == "cancel" && rand.IntN(3) == 0 {
							time.AfterFunc(time.Duration(rand.IntN(1500))*time.Microsecond, cancel)
						}
						var n int64
						id := 10 + rand.IntN(3)*10
						if k%3 == 0 {
							n, err = txOnConn(ctx, conn, id)
						} else {
							var res sql.Result
							if res, err = conn.ExecContext(ctx, "UPDATE hot SET n = n + 1 WHERE id = ?", id); err == nil {
								n, _ = res.RowsAffected()
							}
						}
						cancel()
						l.note(n, err)
						if err != nil && errorNumber(err) < 0 {
							conn.Close()
							conn = nil
						}
					}
				}, func(i int) {
					if kill == "cancel" {
						return
					}
					ids, err := processes(killer, name)
					if c.check(err) && len(ids) > 0 {
						_, _ = killer.Exec(fmt.Sprintf(kill, ids[rand.IntN(len(ids))]))
					}
				})
				if err := c.failed.Load(); err != nil {
					require.NoError(t, *err)
				}
				l.check(t, number(t, tw.ours, "SELECT SUM(n) FROM hot"))
				require.NotZero(t, l.acknowledged.Load())
				if kill != "KILL QUERY %d" {
					require.NotZero(t, l.unknown.Load()+l.refused.Load(), "nobody was hit")
				}
			})
		}
	})
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

// processes are the connections that run a statement in a database.
func processes(db *sql.DB, database string) ([]int64, error) {
	rows, err := db.Query("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = ? AND COMMAND = 'Query'", database)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

var insertsSlots = regexp.MustCompile("(?i)INSERT (/[*].*?[*]/ )?INTO [^ ]*_slots`")

// TestCommitNeverWithoutIncrements proves that a transaction of increments
// whose batch fails, one time after another, is committed with all of them or
// not at all.
func TestCommitNeverWithoutIncrements(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		nowait := uint16(3572)
		if mariaDB(srv) {
			nowait = 1205
		}
		for _, failures := range [][]uint16{{1213}, {1213, nowait}, {nowait}, {nowait, 1213}, {1213, 1213, 1690}, {1317}, {1213, 1317}, {1205}, {1290}, {1969}, {1213, nowait, 1213}, {nowait, 1205}} {
			{
				t.Run(fmt.Sprint(failures), func(t *testing.T) {
					tw := newBlog(t, srv, blogCounters())
					const likes = "SELECT SUM(likes) FROM post WHERE id <= 2"
					before := number(t, tw.ours, likes)
					tx, err := tw.ours.BeginTx(t.Context(), nil)
					require.NoError(t, err)
					defer tx.Rollback()
					affected(t, tx, likeOne)
					affected(t, tx, "UPDATE post SET likes = likes + 1 WHERE id = 2")
					left := failures
					tw.sent.meddle(t, func(query string) error {
						if !insertsSlots.MatchString(query) || len(left) == 0 {
							return nil
						}
						n := left[0]
						left = left[1:]
						return &mysql.MySQLError{Number: n, Message: "made by the test"}
					})
					err = tx.Commit()
					tw.sent.before.Store(nil)
					if err == nil {
						before += 2
					}
					require.Equal(t, before, number(t, tw.ours, likes), "%v", err)
				})
			}
		}
	})
}

// TestDeadlockAtCommit proves that a transaction which the server rolls back
// while its increments are sent is gone as a whole, and COMMIT says so.
func TestDeadlockAtCommit(t *testing.T) {
	forEachServer(t, func(t *testing.T, srv *testserver.Server) {
		for name, start := range starts {
			t.Run(name, func(t *testing.T) {
				tw := newBlog(t, srv, blogCounters())
				const all = "SELECT (SELECT SUM(likes) FROM post), (SELECT COUNT(*) FROM note WHERE id = 1), (SELECT title FROM post WHERE id = 3)"
				before := queried(t.Context(), tw.ours, all)
				conn := session(t, tw.ours)
				on, commit := start(t, conn)
				affected(t, on, "INSERT INTO note VALUES (1, 'x')")
				affected(t, on, "UPDATE post SET title = 'edited' WHERE id = 3")
				affected(t, on, likeOne)
				other, err := tw.direct.Begin()
				require.NoError(t, err)
				defer other.Rollback()
				for id := 100; id < 150; id++ { // so much that ours is the victim
					affected(t, other, "INSERT INTO note VALUES (?, '')", id)
				}
				number(t, other, "SELECT likes FROM post WHERE id = 1 FOR UPDATE")
				committed := make(chan error, 1)
				go func() { committed <- commit() }()
				require.Eventually(t, func() bool {
					return number(t, tw.direct, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'INSERT INTO%' AND COMMAND <> 'Sleep'") > 0
				}, 5*time.Second, 10*time.Millisecond)
				time.Sleep(50 * time.Millisecond)
				number(t, other, "SELECT likes FROM post WHERE id = 3 FOR UPDATE")
				require.NoError(t, other.Rollback())
				require.Equal(t, 1213, errorNumber(<-committed))
				require.Equal(t, before, queried(t.Context(), tw.ours, all))
			})
		}
	})
}
