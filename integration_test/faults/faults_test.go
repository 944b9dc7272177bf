package faults

import (
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/integration_test/harness"
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/testserver"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(clientDSN); dsn != "" {
		if err := work(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := flag.Set("test.parallel", "16"); err != nil { // they wait most of the time
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// world is a server with a load on it, reached through a proxy.
type world struct {
	srv   *testserver.Server
	proxy *Proxy
	load  *Load
	dsn   string  // of the load's clients
	admin *sql.DB // around the proxy, as root
	name  string  // of the database
	disk  string  // a small file system that the server is on, or ""
}

// fault harms a world once.
type fault struct {
	name     string
	patience time.Duration
	every    time.Duration
	strike   func(w *world) error // nil: nothing beyond the patience
	heal     func(w *world) error
	disk     bool
	least    int64 // statements that have to be done; 0: fifty
	meets    []int // errors of which clients have to be told some, or it did nothing
}

func cuts(c ...Cut) func(w *world) error {
	return func(w *world) error {
		w.proxy.Strike(c[rand.IntN(len(c))])
		return nil
	}
}

func global(settings ...string) func(w *world) error {
	return func(w *world) error {
		for _, s := range settings {
			if _, err := w.admin.Exec("SET GLOBAL " + s); err != nil {
				return err
			}
		}
		return nil
	}
}

func kill(how string) func(w *world) error {
	return func(w *world) error {
		var id int64
		err := w.admin.QueryRow("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = ? AND USER = 'app' AND COMMAND <> 'Sleep' ORDER BY RAND() LIMIT 1", w.name).Scan(&id)
		if err != nil {
			return nil // nobody is at work
		}
		_, _ = w.admin.Exec(fmt.Sprintf(how, id)) // it may have ended
		return nil
	}
}

// broken are the errors of connections that end.
var broken = []int{-1, 1053, 1927}

var faults = []fault{
	{name: "none", every: 50 * time.Millisecond},
	{name: "killed server", every: 500 * time.Millisecond, strike: func(w *world) error {
		if err := w.srv.Kill(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // as start
		defer cancel()
		return w.srv.Restart(ctx)
	}, meets: broken},
	{name: "killed client", every: 20 * time.Millisecond, strike: killClient},
	{name: "cut before", every: 4 * time.Millisecond, strike: cuts(CutBefore), meets: broken},
	{name: "cut after", every: 4 * time.Millisecond, strike: cuts(CutAfter), meets: broken},
	{name: "cut at any byte", every: 4 * time.Millisecond, strike: cuts(CutWithin, CutAnswer), meets: broken},
	{name: "half-open", every: 150 * time.Millisecond, strike: cuts(Swallow), meets: broken},
	{name: "slow", every: 20 * time.Millisecond, strike: cuts(Slow)},
	{name: "KILL QUERY", every: 2 * time.Millisecond, strike: kill("KILL QUERY %d"), meets: []int{1317}},
	{name: "KILL", every: 3 * time.Millisecond, strike: kill("KILL %d"), meets: broken},
	{name: "contexts that end", patience: 15 * time.Millisecond, every: 50 * time.Millisecond, meets: broken},
	{name: "lock waits", every: 100 * time.Millisecond, strike: func(w *world) error { // longer than innodb_lock_wait_timeout
		tx, err := w.admin.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := tx.Exec(fmt.Sprintf("SELECT * FROM item WHERE id IN (%d, %d) FOR UPDATE", 1+rand.IntN(counters), 1+rand.IntN(counters))); err != nil {
			return nil // a deadlock with the load
		}
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		return nil
	}, meets: []int{1205}},
	{name: "deadlocks", every: 2 * time.Millisecond, strike: func(w *world) error { // rows in the opposite order
		tx, err := w.admin.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		for range 30 { // so much that others are the victims
			if _, err := tx.Exec("INSERT INTO ledger (item, amount) VALUES (-1, 0)"); err != nil {
				return nil
			}
		}
		for id := counters; id > 0; id-- {
			if _, err := tx.Exec("UPDATE item SET title = 'd' WHERE id = ?", id); err != nil {
				return nil // it was the victim
			}
		}
		return nil
	}, meets: []int{1213}},
	{name: "rollups", every: 5 * time.Millisecond, strike: func(w *world) error {
		ours, err := openOurs(w.srv.DSN(w.name))
		if err != nil {
			return err
		}
		defer ours.Close()
		return rollUp(context.Background(), ours)
	}},
	{name: "max_connections", every: 200 * time.Millisecond, strike: func(w *world) error {
		if err := global("max_connections = 10")(w); err != nil {
			return err
		}
		for range 20 {
			_ = kill("KILL %d")(w)
		}
		time.Sleep(200 * time.Millisecond)
		return global("max_connections = 200")(w)
	}, heal: global("max_connections = 200"), meets: []int{1040}},
	{name: "read only", every: 100 * time.Millisecond, strike: func(w *world) error {
		if err := global("read_only = 1")(w); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
		return global("read_only = 0")(w)
	}, heal: global("read_only = 0"), meets: []int{1290}},
	{name: "global read lock", every: 100 * time.Millisecond, strike: func(w *world) error { // as a backup takes it
		conn, err := w.admin.Conn(context.Background())
		if err != nil {
			return err
		}
		defer conn.Close()
		_, locked := conn.ExecContext(context.Background(), "FLUSH TABLES WITH READ LOCK")
		if mysqlerr.Number(locked) == mysqlerr.ErrDeadlock { // with the load, and MySQL may hold the lock all the same
			locked = nil
		}
		time.Sleep(200 * time.Millisecond)
		_, err = conn.ExecContext(context.Background(), "UNLOCK TABLES")
		return cmp.Or(locked, err)
	}},
	{name: "full disk", disk: true, every: 300 * time.Millisecond, strike: func(w *world) error {
		f, err := os.Create(filepath.Join(w.disk, "filler"))
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(f.Name()) }()
		defer f.Close()
		block := make([]byte, 1<<16)
		for {
			if _, err := f.Write(block); err != nil {
				break
			}
		}
		time.Sleep(700 * time.Millisecond)
		return nil
	}, meets: []int{1114, 1021}},
}

// newWorld makes a database, its user, a proxy and a load of clients.
func newWorld(t *testing.T, srv *testserver.Server, disk string, params ...string) *world {
	t.Helper()
	w := newWorldOf(t, srv, disk, "INT", newLoad(numbers, nil), params...)
	w.process(t)
	return w
}

// newWorldOf is newWorld with keys of any type, and no process yet.
func newWorldOf(t *testing.T, srv *testserver.Server, disk, key string, l *Load, params ...string) *world {
	t.Helper()
	w := &world{srv: srv, name: fmt.Sprintf("faults_%d", rand.Uint32()), disk: disk}
	root, err := sql.Open("mysql", srv.DSN(""))
	require.NoError(t, err)
	for _, s := range []string{"CREATE DATABASE " + w.name, "CREATE USER IF NOT EXISTS app@'%' IDENTIFIED BY 'app'", "CREATE USER IF NOT EXISTS app@'127.0.0.1' IDENTIFIED BY 'app'",
		"GRANT ALL ON " + w.name + ".* TO app@'%'", "GRANT ALL ON " + w.name + ".* TO app@'127.0.0.1'"} {
		_, err := root.Exec(s)
		require.NoError(t, err, s)
	}
	root.Close()
	w.admin, err = sql.Open("mysql", srv.DSN(w.name))
	require.NoError(t, err)
	w.admin.SetMaxIdleConns(1)
	for _, s := range schema {
		_, err := w.admin.Exec(strings.Replace(s, "{key}", key, 1))
		require.NoError(t, err, s)
	}
	for i, key := range l.keys {
		_, err := w.admin.Exec("INSERT INTO item (id, slug) VALUES (?, ?)", key, fmt.Sprint("s", i+1))
		require.NoError(t, err)
	}
	w.proxy, err = NewProxy(srv.Addr())
	require.NoError(t, err)
	cfg, err := mysql.ParseDSN(srv.DSN(w.name, append(params, "innodb_lock_wait_timeout=1", "readTimeout=3s", "writeTimeout=3s", "timeout=3s")...))
	require.NoError(t, err)
	cfg.User, cfg.Passwd, cfg.Addr = "app", "app", w.proxy.Addr()
	w.dsn, w.load = cfg.FormatDSN(), l
	l.bulky = disk != "" // servers write little into the space that they have
	return w
}

// process begins one, with the driver.
func (w *world) process(t *testing.T, more ...countermysql.TableConfig) {
	t.Helper()
	db, err := openOurs(w.dsn, more...)
	require.NoError(t, err)
	db.SetMaxOpenConns(60)
	db.SetMaxIdleConns(32)
	require.NoError(t, db.Ping())
	w.load.dbs = append(w.load.dbs, db)
}

func (w *world) end(t *testing.T) {
	w.hangUp()
	_, err := w.admin.Exec("DROP DATABASE " + w.name)
	require.NoError(t, err)
	w.admin.Close()
}

// hangUp closes the clients' connections.
func (w *world) hangUp() {
	for _, db := range w.load.dbs {
		db.Close()
	}
	w.proxy.Close()
}

// endure runs a load under a fault for a while, checks the books, and returns
// how often it struck.
func endure(t *testing.T, srv *testserver.Server, f fault, disk string, d time.Duration) (strikes int) {
	t.Helper()
	params := []string{"interpolateParams=true"}
	if rand.IntN(2) == 0 {
		params = nil
	}
	w := newWorld(t, srv, disk, params...)
	defer w.end(t)
	return w.endure(t, f, 32, d)
}

// endure is endure of one world, with so many clients in it.
func (w *world) endure(t *testing.T, f fault, clients int, d time.Duration) (strikes int) {
	t.Helper()
	l := w.load
	l.patience = f.patience
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var working sync.WaitGroup
	working.Go(func() { l.run(ctx, clients) })
	var failed error
	for begun := time.Now(); failed == nil && time.Since(begun) < time.Minute && (time.Since(begun) < d || l.Done.Load() < cmp.Or(f.least, 50) || !l.hasMet(f.meets)); {
		if f.strike != nil {
			failed = f.strike(w)
			strikes++
		}
		time.Sleep(f.every)
	}
	cancel()
	working.Wait()
	require.NoError(t, failed)
	if f.heal != nil {
		require.NoError(t, f.heal(w))
	}
	t.Logf("%s: %d strikes, %d cuts; %s", f.name, strikes, w.proxy.Struck.Load(), l.told())
	require.NotZero(t, l.Done.Load(), "the load did nothing")
	require.True(t, l.hasMet(f.meets), "nobody was told any of %v", f.meets)
	ours, err := openOurs(w.srv.DSN(w.name))
	require.NoError(t, err)
	defer ours.Close()
	w.hangUp() // what was under way when a client gave up may still be on the server
	require.Eventually(t, func() bool {
		var n int
		err := w.admin.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ? AND USER = 'app'", w.name).Scan(&n)
		return err == nil && n == 0
	}, 20*time.Second, 20*time.Millisecond)
	require.NoError(t, l.check(t.Context(), ours))
	require.NoError(t, rollUp(t.Context(), ours))
	require.NoError(t, l.check(t.Context(), w.admin), "after a rollup, in the base rows")
	return strikes
}

// start starts a server of our own, which may be killed.
func start(t *testing.T, flavor testserver.Flavor, options ...testserver.Option) *testserver.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	srv, err := testserver.Start(ctx, flavor, append([]testserver.Option{testserver.WithArgs("--max-connections=200")}, options...)...)
	require.NoError(t, err)
	t.Cleanup(srv.Stop)
	return srv
}

// sideBySide has a test that soaks run beside the others that do.
func sideBySide(t *testing.T) {
	if harness.Soak(t) > 0 {
		t.Parallel()
	}
}

// TestFaults proves that acknowledged ≤ value ≤ acknowledged + unknown, and that
// counters equal the ledger, under each fault.
func TestFaults(t *testing.T) {
	sideBySide(t)
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			srv := start(t, flavor)
			end, strikes := time.Now().Add(harness.Soak(t)), 0
			for round := 0; ; round++ {
				for _, f := range faults {
					if f.disk {
						continue
					}
					t.Run(f.name, func(t *testing.T) {
						strikes += endure(t, srv, f, "", min(max(700*time.Millisecond, harness.Soak(t)/time.Duration(len(faults))), 10*time.Second))
					})
					if harness.Soak(t) > 0 {
						fmt.Fprintf(os.Stderr, "%s  %s: %s, round %d, struck %d times, %s left\n", time.Now().Format(time.TimeOnly), flavor, f.name, round+1, strikes, time.Until(end).Round(time.Second))
					}
				}
				if time.Now().After(end) || t.Failed() {
					return
				}
			}
		})
	}
}

// TestFullDisk proves the same while the server's disk is full. The disk is a
// small tmpfs, which only root can mount.
func TestFullDisk(t *testing.T) {
	require.Zero(t, os.Geteuid(), "run as root: the test mounts a small tmpfs")
	for flavor, size := range map[testserver.Flavor]string{testserver.MariaDB: "220m", testserver.MySQL: "500m"} {
		t.Run(string(flavor), func(t *testing.T) {
			srv := start(t, flavor, testserver.WithDisk(size), testserver.WithArgs("--skip-log-bin")) // MySQL ends where it can't log
			endure(t, srv, faults[len(faults)-1], srv.Dir(), min(max(2500*time.Millisecond, harness.Soak(t)/10), 30*time.Second))
		})
	}
}
