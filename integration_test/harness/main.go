// Package harness runs countermysql beside go-sql-driver/mysql on real servers: the
// same statements go to twin databases, and the answers have to be the same. The
// packages beside it are one for each thing that is proven, with servers of its own.
package harness

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
	"github.com/countermysql/countermysql/internal/mysqlerr"
	"github.com/countermysql/countermysql/internal/testserver"
)

// Servers are those of the process, one of each flavor.
var Servers []*testserver.Server

// waiting is how many of the tests run side by side that have t.Parallel: those
// that wait, for locks or for servers of their own, most of the time. The others
// have run by then, one after the other, each on both servers at once.
const waiting = "6"

// Main is TestMain with defers. A server that can't be had fails the run.
func Main(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	err := flag.Set("test.parallel", waiting) // go test -parallel wins
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Statistics that are kept are a third of the work of making and dropping small tables.
	if Servers, err = testserver.FromEnv(ctx, testserver.WithArgs("--max-connections=600", "--innodb-stats-persistent=0")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		for _, srv := range Servers {
			srv.Stop()
		}
	}()
	code := m.Run()
	if err := goleak.Find(OwnServers()...); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// OwnServers are the goroutines that wait for the servers' processes.
func OwnServers() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("os/exec.(*Cmd).Wait"),
		goleak.IgnoreAnyFunction("os.(*Process).Wait"),
		goleak.IgnoreAnyFunction("syscall.Syscall6"), // waiting for a child in a locked thread
	}
}

// ForEachServer runs the test on every server, on all at the same time.
func ForEachServer(t *testing.T, test func(t *testing.T, srv *testserver.Server)) {
	t.Helper()
	require.NotEmpty(t, Servers)
	for _, srv := range Servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			t.Parallel()
			test(t, srv)
		})
	}
}

// ForOwnServers is forEachServer with servers of the test's own: it kills them, or sets
// what is the whole server's.
func ForOwnServers(t *testing.T, test func(t *testing.T, srv *testserver.Server)) {
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

// Soak is how long a test is to go on, from COUNTERMYSQL_SOAK; 0: as long as it takes to prove it once.
func Soak(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("COUNTERMYSQL_SOAK"), "0s"))
	require.NoError(t, err, "COUNTERMYSQL_SOAK")
	return d
}

// Refusable gives a test's own server a user whom it refuses to write while it is
// read-only: the DSNs as that user, and what switches read_only.
func Refusable(t *testing.T, srv *testserver.Server) (asApp func(dsn string) string, readOnly func(on string)) {
	t.Helper()
	root := Open(t, srv.DSN(""))
	Affected(t, root, "CREATE USER app@'%' IDENTIFIED BY 'app'")
	Affected(t, root, "GRANT ALL ON *.* TO app@'%'")
	revoke := "REVOKE SUPER, READ_ONLY ADMIN ON *.* FROM app@'%'"
	if !MariaDB(srv) {
		revoke = "REVOKE SUPER, CONNECTION_ADMIN ON *.* FROM app@'%'"
	}
	Affected(t, root, revoke)
	return func(dsn string) string { return strings.Replace(dsn, "root@", "app:app@", 1) },
		func(on string) { Affected(t, root, "SET GLOBAL read_only = "+on) }
}

// RefusesTriggers proves that Init, by a user without SUPER on a server with a binary log, says
// what is to be done before he may make triggers, and makes them then. made is called behind
// it, with that user's sql.DB.
func RefusesTriggers(t *testing.T, schema string, config *countermysql.Config, made func(t *testing.T, tw *Twin, app *sql.DB)) {
	for _, flavor := range []testserver.Flavor{testserver.MariaDB, testserver.MySQL} {
		t.Run(string(flavor), func(t *testing.T) {
			t.Parallel()
			srv, err := testserver.Start(t.Context(), flavor, testserver.WithArgs("--log-bin=binlog", "--server-id=1", "--log-bin-trust-function-creators=0"))
			require.NoError(t, err)
			t.Cleanup(srv.Stop)
			asApp, _ := Refusable(t, srv)
			tw := NewTwin(t, srv, schema, config)
			app, _ := OpenOurs(t, asApp(tw.OursDSN), config)
			_, err = countermysql.Init(t.Context(), app, nil)
			require.Equal(t, 1419, ErrorNumber(err))
			require.ErrorContains(t, err, "SET GLOBAL log_bin_trust_function_creators = 1")
			Affected(t, tw.Direct, "SET GLOBAL log_bin_trust_function_creators = 1")
			_, err = countermysql.Init(t.Context(), app, nil)
			require.NoError(t, err)
			made(t, tw, app)
		})
	}
}

func MariaDB(srv *testserver.Server) bool { return srv.Flavor() == testserver.MariaDB }

// MariaDB11 reports whether it is MariaDB 11 or newer.
func MariaDB11(srv *testserver.Server) bool {
	return MariaDB(srv) && !strings.HasPrefix(srv.Version(), "10.")
}

// Twin is a pair of databases with the same tables, one behind each driver.
type Twin struct {
	srv       *testserver.Server
	Plain     *sql.DB // go-sql-driver/mysql
	Ours      *sql.DB // countermysql
	Direct    *sql.DB // go-sql-driver/mysql on our database: what is really stored
	connector *countermysql.Connector
	Config    *countermysql.Config
	Sent      *Recorder // what our driver sends to the server
	OursDSN   string
}

var databases atomic.Int64

// NewDatabase creates an empty database that ends with the test.
func NewDatabase(t testing.TB, srv *testserver.Server) string {
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

// NewTwin makes both databases from schema, whose statements end with ";\n".
// The configuration gets CreateSlots and an interceptor.
func NewTwin(t testing.TB, srv *testserver.Server, schema string, config *countermysql.Config, params ...string) *Twin {
	t.Helper()
	params = append(append([]string{"innodb_lock_wait_timeout=5"}, Isolation(srv)...), params...)
	tw := &Twin{srv: srv, Sent: NewRecorder()}
	own := *config
	own.Rollup = cmp.Or(own.Rollup, countermysql.RollupNever) // slots stay where tests look for them
	own.CreateSlots, own.Interceptor, own.Logger = true, tw.Sent, slog.New(slog.DiscardHandler)
	tw.Config = &own

	plainDB, oursDB := NewDatabase(t, srv), NewDatabase(t, srv)
	tw.OursDSN = srv.DSN(oursDB, params...)
	tw.Plain = Open(t, srv.DSN(plainDB, params...))
	tw.Direct = Open(t, srv.DSN(oursDB, Isolation(srv)...))
	ExecAll(t, tw.Plain, schema)
	ExecAll(t, tw.Direct, schema)
	tw.Ours, tw.connector = OpenOurs(t, tw.OursDSN, tw.Config)
	return tw
}

// Isolation are the parameters of sessions whose transactions are those of all servers before MariaDB 11.6.2,
// which has turned innodb_snapshot_isolation on: then plain MariaDB refuses, and rolls back, where the others go on.
// Tests of it turn it on by themselves (https://mariadb.com/kb/en/innodb-system-variables/#innodb_snapshot_isolation).
func Isolation(srv *testserver.Server) []string {
	if !MariaDB11(srv) {
		return nil
	}
	return []string{"innodb_snapshot_isolation=OFF"}
}

func Open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Ping())
	return db
}

// OpenOurs opens our driver on a DSN of go-sql-driver's.
func OpenOurs(t testing.TB, dsn string, config *countermysql.Config) (*sql.DB, *countermysql.Connector) {
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

// Forget has the sql.DBs close their idle connections, which are of a server that was killed:
// go-sql-driver may say "bad connection" of them when a sql.DB is closed.
func Forget(dbs ...*sql.DB) {
	for _, db := range dbs {
		db.SetMaxIdleConns(-1)
	}
}

func ExecAll(t testing.TB, db *sql.DB, script string) {
	t.Helper()
	for _, stmt := range strings.Split(script, ";\n") {
		if strings.TrimSpace(stmt) == "" {
			continue
		}
		_, err := db.Exec(stmt)
		require.NoError(t, err, stmt)
	}
}

// Counters is the configuration of one table, whose slots stay where tests look for them.
func Counters(table string, columns ...string) *countermysql.Config {
	return &countermysql.Config{Rollup: countermysql.RollupNever, Tables: []countermysql.TableConfig{{Table: table, Counters: columns}}}
}

// ReadOwnSnapshot is config with ReadOwnSnapshot everywhere.
func ReadOwnSnapshot(config *countermysql.Config) *countermysql.Config {
	own := *config
	own.ReadOwn = countermysql.ReadOwnSnapshot
	own.Tables = nil
	for _, table := range config.Tables {
		table.ReadOwn = countermysql.ReadOwnSnapshot
		own.Tables = append(own.Tables, table)
	}
	return &own
}

// Number reads one number.
func Number(t *testing.T, db Querier, query string, args ...any) int64 {
	t.Helper()
	for {
		var n int64
		err := db.QueryRowContext(t.Context(), query, args...).Scan(&n)
		if mysqlerr.Number(err) == notInUTF8MB3 && strings.Contains(query, "PROCESSLIST") {
			continue // a statement of another test, which ends
		}
		require.NoError(t, err, query)
		return n
	}
}

// MySQL's PROCESSLIST shows everybody's statements in utf8mb3, and fails while one of them
// has a character or byte that is not in it.
const notInUTF8MB3 = 3854

// Execer and querier are what *sql.DB, *sql.Conn and *sql.Tx have in common.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Affected runs a statement and returns its RowsAffected.
func Affected(t testing.TB, db Execer, query string, args ...any) int64 {
	t.Helper()
	res, err := db.ExecContext(t.Context(), query, args...)
	require.NoError(t, err, query)
	n, err := res.RowsAffected()
	require.NoError(t, err)
	return n
}

// Session takes one connection out of the pool until the end of the test.
func Session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ErrorNumber is the server's error number; 0 for no error, -1 for another one.
func ErrorNumber(err error) int {
	var e *mysql.MySQLError
	switch {
	case err == nil:
		return 0
	case asError(err, &e):
		return int(e.Number)
	}
	return -1
}

// Stats are the driver's own totals.
func Stats(t *testing.T, db *sql.DB) countermysql.Statistics {
	t.Helper()
	s, err := countermysql.Stats(db)
	require.NoError(t, err)
	return s
}
