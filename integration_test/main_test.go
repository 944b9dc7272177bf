// Package integration_test runs countermysql beside go-sql-driver/mysql on real
// servers: the same statements go to twin databases, and the answers have to be
// the same.
package integration_test

import (
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

var servers []*testserver.Server

// waiting is how many of the tests run side by side that have t.Parallel: those
// that wait, for locks or for servers of their own, most of the time. The others
// have run by then, one after the other, each on both servers at once.
const waiting = "6"

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run is TestMain with defers. A server that can't be had fails the run.
func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	err := flag.Set("test.parallel", waiting) // go test -parallel wins
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if servers, err = testserver.FromEnv(ctx, testserver.WithArgs("--max-connections=600")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		for _, srv := range servers {
			srv.Stop()
		}
	}()
	code := m.Run()
	if err := goleak.Find(ownServers()...); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// ownServers are the goroutines that wait for the servers' processes.
func ownServers() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("os/exec.(*Cmd).Wait"),
		goleak.IgnoreAnyFunction("os.(*Process).Wait"),
		goleak.IgnoreAnyFunction("syscall.Syscall6"), // waiting for a child in a locked thread
	}
}

// forEachServer runs the test on every server, on all at the same time.
func forEachServer(t *testing.T, test func(t *testing.T, srv *testserver.Server)) {
	t.Helper()
	require.NotEmpty(t, servers)
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			t.Parallel()
			test(t, srv)
		})
	}
}

// forOwnServers is forEachServer with servers of the test's own: it kills them, or sets
// what is the whole server's.
func forOwnServers(t *testing.T, test func(t *testing.T, srv *testserver.Server)) {
	t.Helper()
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			srv, err := testserver.Start(t.Context(), flavor)
			require.NoError(t, err)
			t.Cleanup(srv.Stop)
			test(t, srv)
		})
	}
}

// refusable gives a test's own server a user whom it refuses to write while it is
// read-only: the DSNs as that user, and what switches read_only.
func refusable(t *testing.T, srv *testserver.Server) (asApp func(dsn string) string, readOnly func(on string)) {
	t.Helper()
	root := open(t, srv.DSN(""))
	affected(t, root, "CREATE USER app@'%' IDENTIFIED BY 'app'")
	affected(t, root, "GRANT ALL ON *.* TO app@'%'")
	revoke := "REVOKE SUPER, READ_ONLY ADMIN ON *.* FROM app@'%'"
	if !mariaDB(srv) {
		revoke = "REVOKE SUPER, CONNECTION_ADMIN ON *.* FROM app@'%'"
	}
	affected(t, root, revoke)
	return func(dsn string) string { return strings.Replace(dsn, "root@", "app:app@", 1) },
		func(on string) { affected(t, root, "SET GLOBAL read_only = "+on) }
}

func mariaDB(srv *testserver.Server) bool { return srv.Flavor() == testserver.MariaDB }

// twin is a pair of databases with the same tables, one behind each driver.
type twin struct {
	srv       *testserver.Server
	plain     *sql.DB // go-sql-driver/mysql
	ours      *sql.DB // countermysql
	direct    *sql.DB // go-sql-driver/mysql on our database: what is really stored
	connector *countermysql.Connector
	config    *countermysql.Config
	sent      *recorder // what our driver sends to the server
	oursDSN   string
}

var databases atomic.Int64

// newDatabase creates an empty database that ends with the test.
func newDatabase(t *testing.T, srv *testserver.Server) string {
	t.Helper()
	name := fmt.Sprintf("itg_%d_%d", os.Getpid(), databases.Add(1))
	admin, err := sql.Open("mysql", srv.DSN(""))
	require.NoError(t, err)
	defer admin.Close()
	_, err = admin.Exec("CREATE DATABASE " + name + " CHARACTER SET utf8mb4")
	require.NoError(t, err)
	t.Cleanup(func() {
		admin, err := sql.Open("mysql", srv.DSN("", "lock_wait_timeout=20"))
		require.NoError(t, err)
		defer admin.Close()
		_, err = admin.Exec("DROP DATABASE IF EXISTS " + name)
		require.NoError(t, err, "a session still holds locks")
	})
	return name
}

// newTwin makes both databases from schema, whose statements end with ";\n".
// The configuration gets CreateSlots and an interceptor.
func newTwin(t *testing.T, srv *testserver.Server, schema string, config *countermysql.Config, params ...string) *twin {
	t.Helper()
	params = append([]string{"innodb_lock_wait_timeout=5"}, params...)
	tw := &twin{srv: srv, sent: newRecorder()}
	own := *config
	own.Rollup = cmp.Or(own.Rollup, countermysql.RollupNever) // slots stay where tests look for them
	own.CreateSlots, own.Interceptor, own.Logger = true, tw.sent, slog.New(slog.DiscardHandler)
	tw.config = &own

	plainDB, oursDB := newDatabase(t, srv), newDatabase(t, srv)
	tw.oursDSN = srv.DSN(oursDB, params...)
	tw.plain = open(t, srv.DSN(plainDB, params...))
	tw.direct = open(t, srv.DSN(oursDB))
	execAll(t, tw.plain, schema)
	execAll(t, tw.direct, schema)
	tw.ours, tw.connector = openOurs(t, tw.oursDSN, tw.config)
	return tw
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Ping())
	return db
}

// openOurs opens our driver on a DSN of go-sql-driver's.
func openOurs(t *testing.T, dsn string, config *countermysql.Config) (*sql.DB, *countermysql.Connector) {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	own := *config
	own.Rollup = cmp.Or(own.Rollup, countermysql.RollupNever) // slots stay where tests look for them
	connector, err := countermysql.NewConnector(cfg, &own)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Ping())
	return db, connector
}

func execAll(t *testing.T, db *sql.DB, script string) {
	t.Helper()
	for _, stmt := range strings.Split(script, ";\n") {
		if strings.TrimSpace(stmt) == "" {
			continue
		}
		_, err := db.Exec(stmt)
		require.NoError(t, err, stmt)
	}
}

// counters is the configuration of one table, whose slots stay where tests look for them.
func counters(table string, columns ...string) *countermysql.Config {
	return &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: table, Counters: columns}}}
}

// readOwnSnapshot is config with ReadOwnSnapshot everywhere.
func readOwnSnapshot(config *countermysql.Config) *countermysql.Config {
	own := *config
	own.ReadOwn = countermysql.ReadOwnSnapshot
	own.Tables = nil
	for _, table := range config.Tables {
		table.ReadOwn = countermysql.ReadOwnSnapshot
		own.Tables = append(own.Tables, table)
	}
	return &own
}

// number reads one number.
func number(t *testing.T, db querier, query string, args ...any) int64 {
	t.Helper()
	var n int64
	require.NoError(t, db.QueryRowContext(t.Context(), query, args...).Scan(&n), query)
	return n
}

// execer and querier are what *sql.DB, *sql.Conn and *sql.Tx have in common.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// affected runs a statement and returns its RowsAffected.
func affected(t *testing.T, db execer, query string, args ...any) int64 {
	t.Helper()
	res, err := db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err, query)
	n, err := res.RowsAffected()
	require.NoError(t, err)
	return n
}

// session takes one connection out of the pool until the end of the test.
func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// errorNumber is the server's error number; 0 for no error, -1 for another one.
func errorNumber(err error) int {
	var e *mysql.MySQLError
	switch {
	case err == nil:
		return 0
	case asError(err, &e):
		return int(e.Number)
	}
	return -1
}

// stats are the driver's own totals.
func stats(t *testing.T, db *sql.DB) countermysql.Statistics {
	t.Helper()
	s, err := countermysql.Stats(db)
	require.NoError(t, err)
	return s
}
