package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/countermysql/countermysql"
	"github.com/countermysql/countermysql/internal/testserver"
)

// server is a MariaDB or MySQL to measure on.
type server struct {
	name     string // "MariaDB"
	version  string
	cfg      *mysql.Config
	admin    *sql.DB            // to set up, with no database of its own
	own      *testserver.Server // ours: it may be killed, and its global variables changed; nil: somebody's
	conns    int                // max_connections
	settings []string
}

// serverArgs are for hundreds of clients of a dozen peers at once, and for a
// thousand tables. All that concerns durability is the server's default.
var serverArgs = []string{"--max-connections=3000", "--table-open-cache=8000", "--table-definition-cache=8000"}

// shown are the settings that the report tells.
var shown = []string{"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "innodb_buffer_pool_size", "innodb_deadlock_detect",
	"transaction_isolation", "tx_isolation", "innodb_snapshot_isolation", "max_connections", "table_open_cache"}

type servers struct {
	sql   []*server
	redis []*redisServer
}

func (s *servers) stop() {
	for _, r := range s.redis {
		r.Stop()
	}
	for _, srv := range s.sql {
		srv.admin.Close()
		if srv.own != nil {
			srv.own.Stop()
		}
	}
}

func startServers(ctx context.Context, s settings, progress func(string)) (_ *servers, err error) {
	all := &servers{}
	defer func() {
		if err != nil {
			all.stop()
		}
	}()
	how := []testserver.Option{testserver.WithProgress(progress), testserver.WithArgs(serverArgs...)}
	if !s.unsynced {
		how = append(how, testserver.Durable())
	}
	if err := all.startSQL(ctx, s.dsns, how...); err != nil {
		return nil, err
	}
	for _, srv := range all.sql {
		if err := srv.describe(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", srv.name, err)
		}
	}
	all.redis, err = startRedis(ctx, progress)
	return all, err
}

func (s *servers) startSQL(ctx context.Context, dsns []string, how ...testserver.Option) error {
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil { // who kills servers knows of broken connections
		return err
	}
	for i, dsn := range dsns {
		// Counters in it would reach the plain driver too. And its error could
		// quote a password.
		cfg, _, err := countermysql.ParseDSN(dsn)
		if err != nil {
			return fmt.Errorf("-dsn number %d can't be read; it looks like user:password@tcp(127.0.0.1:3306)/", i+1)
		}
		if err := s.add(cfg, nil); err != nil {
			return err
		}
	}
	if len(dsns) > 0 {
		return nil
	}
	flavors := []testserver.Flavor{testserver.MariaDB, testserver.MySQL}
	started := make([]*testserver.Server, len(flavors))
	errs := make([]error, len(flavors))
	var wg sync.WaitGroup
	for i, f := range flavors {
		wg.Go(func() {
			started[i], errs[i] = testserver.Start(ctx, f, how...)
		})
	}
	wg.Wait()
	for i, srv := range started {
		if srv == nil {
			continue
		}
		cfg, err := mysql.ParseDSN(srv.DSN(""))
		if err == nil {
			err = s.add(cfg, srv)
		}
		if err != nil {
			srv.Stop()
			errs[i] = err
		}
	}
	return errors.Join(errs...)
}

func (s *servers) add(cfg *mysql.Config, own *testserver.Server) error {
	cfg = cfg.Clone()
	cfg.DBName, cfg.InterpolateParams = "", true
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	s.sql = append(s.sql, &server{cfg: cfg, own: own, admin: sql.OpenDB(connector)})
	return nil
}

func (s *server) describe(ctx context.Context) error {
	err := s.admin.QueryRowContext(ctx, "SELECT VERSION(), @@max_connections").Scan(&s.version, &s.conns)
	if err != nil {
		return fmt.Errorf("no answer from %s(%s): %w", s.cfg.Net, s.cfg.Addr, err)
	}
	s.name = "MySQL"
	if strings.Contains(s.version, "MariaDB") {
		s.name = "MariaDB"
	}
	s.version, _, _ = strings.Cut(s.version, "-")
	for _, name := range shown {
		var value string
		err := s.admin.QueryRowContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name = ?", name).Scan(&name, &value)
		if errors.Is(err, sql.ErrNoRows) {
			continue // the other server's name for it
		}
		if err != nil {
			return err
		}
		s.settings = append(s.settings, name+"="+value)
	}
	return nil
}

// exec runs statements as the administrator, in one session.
func (s *server) exec(ctx context.Context, statements ...string) error {
	session, err := s.admin.Conn(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	for _, statement := range statements {
		if _, err := session.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %.80s: %w", s.name, statement, err)
		}
	}
	return nil
}

// open connects to a database as an application does: sql.Open with a driver's
// name and a DSN.
func (s *server) open(ctx context.Context, driver, database string, clients int, params ...string) (*sql.DB, error) {
	cfg := s.cfg.Clone()
	cfg.DBName = database
	dsn := cfg.FormatDSN() // has interpolateParams=true, so a "?"
	for _, p := range params {
		dsn += "&" + p
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	return pool(ctx, db, clients)
}

// pool has all connections opened.
func pool(ctx context.Context, db *sql.DB, clients int) (*sql.DB, error) {
	db.SetMaxOpenConns(clients)
	db.SetMaxIdleConns(clients)
	if err := connect(ctx, db, clients); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// connect opens all connections, so that no round does.
func connect(ctx context.Context, db *sql.DB, clients int) error {
	errs := make([]error, clients)
	conns := make([]*sql.Conn, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { conns[i], errs[i] = db.Conn(ctx) })
	}
	wg.Wait()
	for _, c := range conns {
		if c != nil {
			c.Close()
		}
	}
	return errors.Join(errs...)
}

// cleanup is a context for what has to be done after Ctrl-C too.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
}
