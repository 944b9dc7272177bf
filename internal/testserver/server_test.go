package testserver

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In this environment variable TestDiesWithParent tells its child what to start.
const envChild = "COUNTERMYSQL_TESTSERVER_CHILD"

func TestMain(m *testing.M) {
	if f := os.Getenv(envChild); f != "" {
		s, err := Start(context.Background(), Flavor(f))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Printf("READY %d %s\n", s.proc.cmd.Process.Pid, s.dir.path)
		select {}
	}
	os.Exit(m.Run())
}

// needOwn skips where the user has said which servers to use instead.
func needOwn(t *testing.T) {
	if os.Getenv(EnvDSN) != "" {
		t.Skipf("%s is set: no server is to be started", EnvDSN)
	}
}

func forEachFlavor(t *testing.T, test func(t *testing.T, f Flavor)) {
	needOwn(t)
	for _, f := range []Flavor{MariaDB, MySQL} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			test(t, f)
		})
	}
}

func start(t *testing.T, f Flavor, opts ...Option) *Server {
	t.Helper()
	opts = append(opts, WithProgress(func(s string) { t.Log(s) }))
	s, err := Start(t.Context(), f, opts...)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return s
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec1(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query)
	require.NoError(t, err, query)
}

// variable asks for a system variable.
func variable(t *testing.T, db *sql.DB, name string) (v string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT @@"+name).Scan(&v), name)
	return v
}

func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

func TestStartAndStop(t *testing.T) {
	forEachFlavor(t, func(t *testing.T, f Flavor) {
		s := start(t, f, WithArgs("--max-connections=77", "--innodb-lock-wait-timeout=3"))
		assert.Equal(t, f, s.Flavor())
		assert.Equal(t, f, flavorOf(s.Version()))
		assert.True(t, s.Own())

		db := open(t, s.DSN(""))
		require.NoError(t, db.PingContext(t.Context()))
		assert.Equal(t, "77", variable(t, db, "max_connections"))
		assert.Equal(t, "3", variable(t, db, "innodb_lock_wait_timeout"))
		assert.Equal(t, "1", variable(t, db, "innodb_flush_log_at_trx_commit"))
		assert.Equal(t, "1", variable(t, db, "local_infile"))

		// root may do everything, also give it away.
		exec1(t, db, "CREATE DATABASE d")
		exec1(t, db, "CREATE USER u@'127.0.0.1' IDENTIFIED BY 'p'")
		exec1(t, db, "GRANT SELECT ON d.* TO u@'127.0.0.1'")
		assert.Equal(t, "d", func() (name string) {
			require.NoError(t, open(t, s.DSN("d", "parseTime=true", "timeout=5s")).
				QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&name))
			return name
		}())

		pid, dir := s.proc.cmd.Process.Pid, s.dir.path
		require.True(t, alive(pid))
		require.DirExists(t, dir)
		begin := time.Now()
		s.Stop()
		assert.Less(t, time.Since(begin), stopTimeout)
		assert.False(t, alive(pid))
		assert.NoDirExists(t, dir)
		_, err := net.Dial("tcp", s.Addr())
		assert.Error(t, err)
		s.Stop() // again: nothing
		assert.ErrorContains(t, s.Restart(t.Context()), "was stopped")
	})
}

func TestKillAndRestart(t *testing.T) {
	forEachFlavor(t, func(t *testing.T, f Flavor) {
		s := start(t, f)
		db := open(t, s.DSN(""))
		exec1(t, db, "CREATE DATABASE d")
		exec1(t, db, "CREATE TABLE d.t (id INT PRIMARY KEY)")
		exec1(t, db, "INSERT INTO d.t VALUES (1)")

		addr := s.Addr()
		require.NoError(t, s.Kill())
		require.Error(t, db.PingContext(t.Context()))
		require.NoError(t, s.Kill(), "dead is dead")
		for range 2 { // once from dead, once from running
			require.NoError(t, s.Restart(t.Context()))
			assert.Equal(t, addr, s.Addr())
			var n int
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM d.t").Scan(&n))
			assert.Equal(t, 1, n)
		}
	})
}

// The tests don't wait for the disk; benchmarks do, as servers do by themselves.
func TestDurable(t *testing.T) {
	forEachFlavor(t, func(t *testing.T, f Flavor) {
		waits := func(s *Server) bool {
			db := open(t, s.DSN(""))
			require.Equal(t, "1", variable(t, db, "innodb_flush_log_at_trx_commit"), "it writes at every commit")
			flushes := variable(t, db, "innodb_flush_method") != "nosync"
			if f == MySQL { // its binary log is on
				require.Equal(t, flushes, variable(t, db, "sync_binlog") == "1")
			}
			return flushes
		}
		assert.False(t, waits(start(t, f)))
		assert.True(t, waits(start(t, f, Durable())))
	})
}

func TestStartFailureShowsTheLog(t *testing.T) {
	forEachFlavor(t, func(t *testing.T, f Flavor) {
		_, err := Start(t.Context(), f, WithArgs("--no-such-option"))
		require.ErrorContains(t, err, "no-such-option")
		assert.ErrorContains(t, err, string(f))
	})
}

// MariaDB sometimes crashes when it refuses an option, and its crash report is
// longer than what an error message shows of the log.
func TestTailShowsTheCauseBehindACrashReport(t *testing.T) {
	log := "2026-11-22 [Note] starting\n" +
		"2026-11-22 [ERROR] unknown option '--no-such-option'\n" +
		strings.Repeat("Max core file size  0  bytes\n", 200) + "Segmentation fault\n"
	got := tail([]byte(log))
	assert.True(t, strings.HasPrefix(got, "2026-11-22 [ERROR] unknown option '--no-such-option'\nMax core"), got)
	assert.True(t, strings.HasSuffix(got, "Segmentation fault"), got)
	assert.Less(t, len(got), len(log)/2)

	assert.Equal(t, "short", tail([]byte("short\n")))
	assert.Len(t, tail([]byte(strings.Repeat("x", 3000))), 2000, "one long line")
}

func TestStartEndsWithItsContext(t *testing.T) {
	forEachFlavor(t, func(t *testing.T, f Flavor) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // none starts in that
		defer cancel()
		var said []string
		_, err := Start(ctx, f, WithProgress(func(s string) { said = append(said, s) }))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotContains(t, strings.Join(said, "\n"), "left behind")
	})
}

func TestUnknownFlavor(t *testing.T) {
	_, err := Start(t.Context(), "oracle")
	require.ErrorContains(t, err, `unknown flavor "oracle"`)
}

// A test binary that is killed (a timeout, Ctrl-C) leaves no server, and its
// folder only until the next one starts.
func TestDiesWithParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	forEachFlavor(t, func(t *testing.T, f Flavor) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envChild+"="+string(f))
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		var pid int
		var dir string
		_, err = fmt.Sscanf(line, "READY %d %s", &pid, &dir)
		require.NoError(t, err, line)
		require.True(t, alive(pid))

		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		assert.Eventually(t, func() bool { return !running(pid) }, 10*time.Second, 20*time.Millisecond)

		require.DirExists(t, dir)
		old := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, "owner"), old, old))
		s := start(t, f)
		assert.NoDirExists(t, dir)
		require.NoError(t, os.Chtimes(s.dir.host("owner"), old, old))
		sweep(filepath.Dir(dir))
		assert.DirExists(t, s.dir.path, "a folder in use")
	})
}

// running is alive, but for zombies: in a container nobody may collect orphans.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestStartCluster(t *testing.T) {
	needOwn(t)
	nodes, err := StartCluster(t.Context(), 2)
	require.NoError(t, err)
	for _, s := range nodes {
		t.Cleanup(s.Stop)
	}
	exec1(t, open(t, nodes[0].DSN("")), "CREATE DATABASE there")
	exec1(t, open(t, nodes[1].DSN("")), "CREATE TABLE there.too (id INT PRIMARY KEY)")
	require.NoError(t, nodes[1].Restart(t.Context())) // it joins again
	exec1(t, open(t, nodes[1].DSN("there", "wsrep_sync_wait=15")), "INSERT INTO too VALUES (1)")
}

func TestStartGroup(t *testing.T) {
	needOwn(t)
	nodes, err := StartGroup(t.Context(), 2)
	require.NoError(t, err)
	for _, s := range nodes {
		t.Cleanup(s.Stop)
	}
	exec1(t, open(t, nodes[0].DSN("")), "CREATE DATABASE there")
	require.NoError(t, nodes[1].Restart(t.Context()))
	require.NoError(t, nodes[1].Join(t.Context(), false))
	exec1(t, open(t, nodes[0].DSN("there")), "CREATE TABLE too (id INT PRIMARY KEY)")
	exec1(t, open(t, nodes[1].DSN("there", "group_replication_consistency=%27BEFORE%27")), "DO (SELECT COUNT(*) FROM too)")
}
