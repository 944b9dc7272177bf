package countermysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// database is an empty database of a test on one server.
type database struct {
	name   string
	cfg    *mysql.Config // of it, for a connector
	direct *sql.DB       // without our driver
}

// forEachServer runs f on each server.
func forEachServer(t *testing.T, f func(t *testing.T, d database)) {
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			d := database{name: fmt.Sprintf("root_%d_%p", os.Getpid(), t)}
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			t.Cleanup(func() { _ = admin.Close() })
			execute(t, admin, "CREATE DATABASE "+d.name)
			t.Cleanup(func() { execute(t, admin, "DROP DATABASE "+d.name) })
			d.cfg, _, err = ParseDSN(srv.DSN(d.name))
			require.NoError(t, err)
			d.direct, err = sql.Open("mysql", srv.DSN(d.name))
			require.NoError(t, err)
			t.Cleanup(func() { _ = d.direct.Close() })
			f(t, d)
		})
	}
}

// execute runs a statement on a sql.DB or sql.Conn.
func execute(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, text string) {
	t.Helper()
	_, err := db.ExecContext(context.WithoutCancel(t.Context()), text) // also when the test is over
	require.NoError(t, err, text)
}

// connector makes one whose tables have a counter n each. It connects at its first use.
func (d database) connector(t *testing.T, tables ...string) (*Connector, *sql.DB) {
	config := &Config{CreateSlots: true, Logger: slog.New(slog.DiscardHandler)}
	for _, name := range tables {
		config.Tables = append(config.Tables, TableConfig{Table: name, Counters: []string{"n"}})
	}
	c, err := NewConnector(d.cfg, config)
	require.NoError(t, err)
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return c, db
}

// crowded dials a server that may have no connection left.
type crowded struct{ full atomic.Bool }

func (s *crowded) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.full.Load() {
		return nil, errors.New("too many connections")
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}
