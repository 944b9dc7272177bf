// Package servertest gives tests an empty database on each server. A test package that uses
// it has to end the servers in its TestMain, by testserver.StopShared.
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
	Direct *sql.DB       // without our driver
}

// Each runs f on each server.
func Each(t *testing.T, f func(t *testing.T, d Database)) {
	servers, err := testserver.Shared(t.Context())
	require.NoError(t, err)
	for _, srv := range servers {
		t.Run(string(srv.Flavor()), func(t *testing.T) {
			d := Database{Name: fmt.Sprintf("unit_%d_%p", os.Getpid(), t)}
			admin, err := sql.Open("mysql", srv.DSN(""))
			require.NoError(t, err)
			t.Cleanup(func() { _ = admin.Close() })
			Execute(t, admin, "CREATE DATABASE "+d.Name)
			t.Cleanup(func() { Execute(t, admin, "DROP DATABASE "+d.Name) })
			d.Config, err = mysql.ParseDSN(srv.DSN(d.Name))
			require.NoError(t, err)
			d.Direct, err = sql.Open("mysql", srv.DSN(d.Name))
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
