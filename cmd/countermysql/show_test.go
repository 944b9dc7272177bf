package main

import (
	"context"
	"database/sql"
	"io"
	"math/rand/v2"
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

// load is many clients that write posts, and count them, in one transaction:
// the table of posts is the ledger that the counters must agree with.
type load struct {
	acknowledged, unknown atomic.Int64
	stop                  context.CancelFunc
	clients               sync.WaitGroup
}

func startLoad(db *sql.DB, clients int) *load {
	pause := time.Duration(clients) * 3 * time.Millisecond // most stages wait for a time, not for posts
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{stop: cancel}
	for range clients {
		l.clients.Go(func() {
			for ctx.Err() == nil {
				switch sent, err := writePost(db); {
				case err == nil:
					l.acknowledged.Add(1)
				case sent:
					l.unknown.Add(1)
				default:
					time.Sleep(5 * time.Millisecond) // the server is away
				}
				time.Sleep(pause)
			}
		})
	}
	return l
}

// writePost reports whether its transaction may have been committed.
func writePost(db *sql.DB) (sent bool, err error) {
	tx, err := db.Begin()
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	blog := 1 + rand.IntN(4)
	if _, err := tx.Exec("INSERT INTO post (blog) VALUES (?)", blog); err != nil {
		return false, err
	}
	if _, err := tx.Exec("UPDATE blog SET posts = posts + 1 WHERE id = ?", blog); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

// TestShow adopts a table that is in use, loads it with 32 clients, rolls up
// under that load, kills the server in the middle five times, restarts it,
// recounts, and leaves. At every stage acknowledged ≤ value ≤ acknowledged +
// unknown, and the counters agree with the ledger.
func TestShow(t *testing.T) {
	t.Setenv("COUNTERMYSQL_CONFIG", "")
	require.NoError(t, mysql.SetLogger(&mysql.NopLogger{})) // a killed server is no news here
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			srv, err := testserver.Start(t.Context(), flavor, testserver.WithArgs("--max-connections=300"))
			require.NoError(t, err)
			t.Cleanup(srv.Stop)
			o := newTool(t, srv)
			const sum, ledger = "SELECT SUM(posts) FROM blog", "SELECT COUNT(*) FROM post"
			const perBlog = "SELECT COUNT(*) FROM blog WHERE posts <> (SELECT COUNT(*) FROM post WHERE post.blog = blog.id)"
			o.plain.SetMaxIdleConns(32)
			o.ours.SetMaxIdleConns(32)
			var acknowledged, unknown int64
			settle := func(stage string, l *load, db *sql.DB) {
				t.Helper()
				l.stop()
				l.clients.Wait()
				acknowledged += l.acknowledged.Load()
				unknown += l.unknown.Load()
				require.NotZero(t, l.acknowledged.Load(), stage)
				value := o.number(db, sum)
				require.GreaterOrEqual(t, value, acknowledged, stage)
				require.LessOrEqual(t, value, acknowledged+unknown, stage)
				require.Equal(t, o.number(o.plain, ledger), value, stage)
				require.Zero(t, o.number(db, perBlog), stage)
				t.Logf("%s: acknowledged %d ≤ %d ≤ %d", stage, acknowledged, value, acknowledged+unknown)
			}
			wait := func(l *load, n int64) {
				t.Helper()
				from := l.acknowledged.Load()
				require.Eventually(t, func() bool { return l.acknowledged.Load() > from+n }, 60*time.Second, time.Millisecond)
			}

			// adopt, while processes without the driver go on
			plain := startLoad(o.plain, 4)
			wait(plain, 20)
			o.run(exitFound, "check")
			o.run(exitOK, "init", "--yes")
			mixed := startLoad(o.ours, 4)
			wait(mixed, 20)
			wait(plain, 20)
			plain.stop()
			plain.clients.Wait()
			acknowledged, unknown = plain.acknowledged.Load(), plain.unknown.Load()
			settle("adopted", mixed, o.ours)

			// roll up under load
			l := startLoad(o.ours, 32)
			wait(l, 100)
			for range 5 {
				wait(l, 50)
				o.run(exitOK, "rollup", "--yes")
			}
			settle("rolled up under load", l, o.ours)

			// kill the server five times in the middle of that
			l = startLoad(o.ours, 32)
			ctx, stopRollups := context.WithCancel(t.Context())
			var rollups sync.WaitGroup
			rollups.Go(func() {
				for ctx.Err() == nil {
					run(ctx, []string{"rollup", "--yes", "--dsn", o.dsn, "--config", o.config}, strings.NewReader(""), io.Discard, io.Discard)
				}
			})
			for range 5 {
				wait(l, 100)
				require.NoError(t, srv.Kill())
				require.NoError(t, srv.Restart(t.Context()))
			}
			wait(l, 100)
			stopRollups()
			rollups.Wait()
			settle("killed five times", l, o.ours)

			// recount under load: nothing differs, and what is spoilt is mended
			l = startLoad(o.ours, 32)
			wait(l, 50)
			o.run(exitOK, "recount")
			o.exec(o.plain, "UPDATE blog SET posts = posts + 12345 WHERE id = 2")
			o.run(exitFound, "recount")
			o.run(exitOK, "recount", "--repair", "--yes")
			settle("recounted", l, o.ours)

			// leave under load: first the slots, then the driver
			l = startLoad(o.ours, 32)
			wait(l, 50)
			o.run(exitOK, "drop", "--stop-only", "--yes", "--wait", (countermysql.DefaultNotice / 2).String())
			wait(l, 50)
			require.Zero(t, o.number(o.plain, "SELECT COUNT(*) FROM blog_slots"))
			settle("closed", l, o.plain)
			l = startLoad(o.plain, 4)
			o.run(exitOK, "drop", "--yes", "--wait", "1ms")
			wait(l, 20)
			settle("left", l, o.plain)
		})
	}
}
