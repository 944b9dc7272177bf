// Package servertest gives tests an empty database on each server.
package servertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/countermysql/countermysql/internal/testserver"
)

// Database is an empty database of a test on one server.
type Database struct {
	Name   string
	Config *mysql.Config // of it, for a connector
	DSN    func(params ...string) string
	Direct *sql.DB // without our driver
}

// Each runs f on each of the servers of a test package, which has to end them in its TestMain,
// by testserver.StopShared.
func Each(t *testing.T, f func(t *testing.T, d Database)) {
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	each(t, servers, f)
}

// Alone runs f on each of some servers that end with the test, the only one of its package.
func Alone(t *testing.T, f func(t *testing.T, d Database)) {
	servers, err := testserver.FromEnv(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Cleanup(srv.Stop)
	}
	each(t, servers, f)
}

func each(t *testing.T, servers []*testserver.Server, f func(t *testing.T, d Database)) {
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			d := Database{Name: fmt.Sprintf("unit_%d_%p", os.Getpid(), t)}
			d.DSN = func(params ...string) string { return srv.DSN(d.Name, params...) }
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			t.Cleanup(func() { _ = admin.Close() })
			Execute(t, admin, "CREATE DATABASE "+d.Name)
			t.Cleanup(func() { Execute(t, admin, "DROP DATABASE "+d.Name) })
			d.Config, err = mysql.ParseDSN(d.DSN())
			require.NoError(t, err)
			d.Direct, err = sql.Open("mysql", d.DSN())
			require.NoError(t, err)
			t.Cleanup(func() { _ = d.Direct.Close() })
			f(t, d)
		})
	}
}

// Execute runs a statement on a sql.DB or sql.Conn.
func Execute(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, text string) {
	t.Helper()
	_, err := db.ExecContext(context.WithoutCancel(t.Context()), text) // also when the test is over
	require.NoError(t, err, text)
}

// Crowded dials a server that may have no connection left.
type Crowded struct{ Full atomic.Bool }

// Dial is for mysql.Config.DialFunc.
func (s *Crowded) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.Full.Load() {
		return nil, errors.New("too many connections")
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}
